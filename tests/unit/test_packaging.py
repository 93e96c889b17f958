"""What is built from this checkout: nothing is missing in it, and nothing of a machine is in it.

A package that pyproject.toml does not list is missing in a wheel only, never in a checkout, so no
other test would find it.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "projections", "adapters")

# Put together here, so that this file does not name what it looks for.
REGISTRIES = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "deb" + "ian.org"]
PLACES = [
    "/ro" + "ot/",
    "/wo" + "rk/",
    "/fa" + "rm/",
    "/ho" + "me/",
    "/Us" + "ers/",
    "/opt/py" + "pi",
]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The files that a clone would have, by their paths from the top."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def built(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An sdist of what a clone would have, and the wheel that is built from that sdist alone."""
    top = tmp_path_factory.mktemp("build")
    for name in tracked:
        if not name.startswith("tests/"):
            copy = top / "clone" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy, follow_symlinks=False)

    make_sdist = "import setuptools.build_meta as build; build.build_sdist('..')"
    _run([sys.executable, "-c", make_sdist], top / "clone")
    (sdist,) = top.glob("*.tar.gz")
    _run([sys.executable, "-m", "tarfile", "-e", sdist.name], top)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    _run([*pip, "--no-deps", "--no-build-isolation", "."], top / sdist.name.removesuffix(".tar.gz"))
    (wheel,) = top.glob("*/*.whl")
    return sdist, wheel


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _in_packages(tracked: list[str]) -> list[str]:
    return [name for name in tracked if PurePosixPath(name).parts[0] in FOLDERS]


def test_every_folder_with_modules_is_a_listed_package(
    project: dict[str, Any], tracked: list[str]
) -> None:
    """Ground: `packages` is the list of the folders that hold modules, each with an __init__."""
    modules = [PurePosixPath(name) for name in _in_packages(tracked) if name.endswith(".py")]
    folders = {module.parent for module in modules}

    listed = project["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted("locum." + ".".join(folder.parts) for folder in folders)
    assert folders == {module.parent for module in modules if module.name == "__init__.py"}


def test_no_module_is_imported_by_its_short_name(tracked: list[str]) -> None:
    """Ground: from the top of a checkout `core` would be a second, different `locum.core`."""
    short = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(FOLDERS)})\b", re.MULTILINE)

    assert not [
        name for name in tracked if name.endswith(".py") and short.search((ROOT / name).read_text())
    ]


def test_the_wheel_has_each_tracked_file_of_the_packages_and_nothing_else(
    tracked: list[str], built: tuple[Path, Path]
) -> None:
    """Ground: modules, py.typed and the page's files are all in the wheel, under `locum/`."""
    _, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}

    code = {name for name in names if ".dist-info/" not in name}
    assert code == {f"locum/{name}" for name in _in_packages(tracked)}
    assert {f"locum/{folder}/py.typed" for folder in FOLDERS} <= code
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_sdist_has_the_code_the_license_and_the_readme(
    tracked: list[str], built: tuple[Path, Path]
) -> None:
    """Ground: what is published as source is enough to build from, and says what it may be used for."""
    sdist, _ = built
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {*_in_packages(tracked), "LICENSE", "README.md", "pyproject.toml"} <= names


def test_the_license_is_apache_2(project: dict[str, Any]) -> None:
    """Ground: LICENSE is the whole text of what pyproject.toml names."""
    text = (ROOT / "LICENSE").read_text()

    assert project["project"]["license"] == "Apache-2.0"
    assert re.search(r"Apache License\s+Version 2\.0, January 2004", text)
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_lock_pins_every_dependency_with_a_hash(project: dict[str, Any]) -> None:
    """Ground: requirements.lock has all that pyproject.toml asks for, in a version that it takes."""
    pins: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text()):
        if not entry.startswith("#"):
            line, _, rest = entry.partition("\\\n")
            name, version = line.partition(";")[0].strip().split("==")
            assert re.match(r"\s+--hash=sha256:[0-9a-f]{64}", rest), name
            pins[name] = version

    asked = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
    ]
    for requirement in map(Requirement, asked):
        version = pins[canonicalize_name(requirement.name)]
        assert version in requirement.specifier, requirement


def test_no_tracked_file_names_a_registry_or_a_place_on_a_machine(tracked: list[str]) -> None:
    """Ground: a clone works from any place and with any registry."""
    unwanted = re.compile("|".join(map(re.escape, REGISTRIES + PLACES)))
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in tracked
        for number, line in enumerate(
            (ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        )
        if unwanted.search(line)
    ]

    assert not found
