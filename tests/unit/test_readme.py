"""README.md against what it speaks of: a fact that is no longer one fails here."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import click
import msgspec
import pytest

from locum.adapters import Harness, Settings
from locum.adapters import settings as sections
from locum.adapters.cli.main import COMMANDS
from locum.adapters.settings.agents import AgentSettings, CardSettings, CardSkill, read_auth
from locum.adapters.settings.tables import read_fields
from locum.core.errors import ConfigError

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
KEYS = {
    "[server]": sections.ServerSettings,
    "[store]": sections.StoreSettings,
    "[standin]": sections.StandinSettings,
    "[limits]": sections.LimitSettings,
    "[telemetry]": sections.TelemetrySettings,
    "[[agents]]": AgentSettings,
    "[card]": CardSettings,
}


def _table(header: str, after: str = "") -> list[list[str]]:
    """The cells of the first table with this header past the text `after`."""
    start = README.index(f"\n| {header} |", README.index(after))
    rows = README[start + 1 :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def _code(language: str, after: str = "") -> str:
    """The first block of code in this language past the text `after`."""
    found = re.search(rf"```{language}\n(.*?)```", README[README.index(after) :], re.DOTALL)
    assert found
    return found[1]


# --- configuration


def test_every_section_has_its_table() -> None:
    """README: the sections that are described are those that there are."""
    described = re.findall(r"^### `(\[.*?\]+)`", README, re.MULTILINE)
    assert described == list(KEYS)
    refusal = ""
    try:
        Settings.from_mapping({"nonesuch": {}})
    except ConfigError as error:
        refusal = error.detail["accepted"]
    known = {name.strip("[]") for name in KEYS}
    assert known | {"agents_defaults"} == set(refusal.split(", "))


@pytest.mark.parametrize("section", KEYS)
def test_every_key_is_there_with_its_default(section: str) -> None:
    """README: no key is missing, none is made up, and each default is read as what it is."""
    struct = KEYS[section]
    rows = _table("key | default | what it is", after=f"### `{section}`")
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    assert [row[0].strip("`") for row in rows] == list(fields)
    for name, default, what in rows:
        field = fields[name.strip("`")]
        assert what.endswith((".", "…"))
        if default in ("needed", "none"):
            assert (default == "needed") is field.required
            continue
        value = tomllib.loads(f"value = {default.strip('`')}")["value"]
        meant = field.default if field.default is not msgspec.NODEFAULT else ()
        if value == []:
            assert meant == ()
        else:
            assert read_fields(struct, {field.name: value}, "") == {field.name: meant}


def test_every_way_to_authenticate_is_there() -> None:
    """README: each `auth.type` with the keys that it needs, and those that it may have."""
    rows = _table("`auth.type` | further keys | what goes with each request")
    with pytest.raises(ConfigError) as refused:
        read_auth({"type": "nonesuch"}, "auth")
    kinds = re.findall(r'"(\w+)"', refused.value.detail["accepted"])
    assert [kind.strip("`") for kind, *_ in rows] == kinds
    for kind, keys, _ in rows:
        needed = [key for key in keys.split(", ") if not key.endswith("?")]
        urls = dict.fromkeys(("token_url", "issuer"), "https://x.example")
        table = {name: urls.get(name, "X") for name in (key.strip("`") for key in needed)}
        table["type"] = kind.strip("`")
        (auth,) = read_auth(table, "auth")
        for key in needed:
            with pytest.raises(ConfigError, match="has no default"):
                read_auth({name: v for name, v in table.items() if name != key.strip("`")}, "auth")
        fields = [name.removesuffix("_") for name in type(auth).__struct_fields__]
        assert [key.strip("`?") for key in keys.split(", ")] == fields


def test_the_tables_inside_the_card() -> None:
    """README: what a skill has, and what else is a table in `[card]`."""
    rows = {row[0]: row[2] for row in _table("key | default | what it is", after="### `[card]`")}
    assert re.findall(r"`(\w+)`", rows["`skills`"]) == list(CardSkill.__struct_fields__)


def test_the_example_of_a_configuration_is_one(tmp_path: Path) -> None:
    """README: the example is read as it stands, and so are the variables named beside it."""
    file = tmp_path / "locum.toml"
    file.write_text(_code("toml", after="## Configuration"))
    environ = {"LOCUM_SERVER__PORT": "8421", "LOCUM_AGENTS__INVENTORY__FOLLOW_INTERVAL": "250s"}
    settings = Settings.load(file, environ)
    assert (settings.server.port, settings.agents[0].follow_interval) == (8421, 250.0)
    assert settings.agents[0].auth
    sentence = README[README.index("A duration is a text") :].split("\n")[0]
    durations, sizes = sentence.split("; a size")
    for text in re.findall(r'`"(.*?)"`', durations):
        assert read_fields(sections.LimitSettings, {"card_timeout": text}, "")
    for text in re.findall(r'`"(.*?)"`', sizes):
        assert read_fields(sections.LimitSettings, {"card_limit": text}, "")


# --- commands and routes


def test_every_command_is_there() -> None:
    """README: each command, with arguments and options that it has, and what its help says."""
    rows = _table("command | what it does", after="## The command line")
    assert [usage.strip("`").split()[1] for usage, _ in rows] == list(COMMANDS)
    for usage, what in rows:
        name, *rest = usage.strip("`").split()[1:]
        assert what == COMMANDS[name].help
        module = import_module(f"locum.adapters.cli.{COMMANDS[name].module}")
        params = getattr(module, name).params
        options = {text for one in params if isinstance(one, click.Option) for text in one.opts}
        assert set(re.findall(r"--[a-z]+", " ".join(rest))) <= options
        arguments = [one for one in params if isinstance(one, click.Argument)]
        bare = [word for word in rest if re.fullmatch(r"[A-Z]+|\[[A-Z]+\]", word)]
        assert bare == [one.make_metavar(click.Context(getattr(module, name))) for one in arguments]


def test_every_route_is_there() -> None:
    """README: the routes are those of the schema, of the agent `self`, and the schema itself."""
    rows = _table("method and path | what it does")
    schema = Harness(Settings()).asgi_app()._litestar.openapi_schema
    assert schema.paths is not None
    found = {
        f"{verb.upper()} {path}"
        for path, item in schema.paths.items()
        for verb in ("get", "post", "put", "patch", "delete")
        if getattr(item, verb)
    }
    own = {
        "GET /.well-known/agent-card.json",
        "POST /a2a",
        "POST /a2a/rest/message:send",
        "GET /schema",
    }
    listed = [route.strip("`") for route, _ in rows]
    assert len(set(listed)) == len(listed)
    assert set(listed) == found | own


# --- the rest


def test_the_minute_with_python(tmp_path: Path) -> None:
    """README: the example runs as it stands against the demonstration's agent, and prints that."""
    shell = _code("sh", after="## A minute with the Python API").split()
    assert shell[0] == ".venv/bin/python"
    port = shell.index("--port") + 1
    command = [sys.executable, *shell[1:port], "0"]
    environ = {key: text for key, text in os.environ.items() if not key.startswith("LOCUM_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=environ) as agent:
        try:
            assert agent.stdout is not None
            url = json.loads(agent.stdout.readline())["url"]
            code = _code("python", after="## A minute with the Python API")
            assert f"http://127.0.0.1:{shell[port]}" in code
            script = tmp_path / "minute.py"
            script.write_text(code.replace(f"http://127.0.0.1:{shell[port]}", url))
            ran = subprocess.run(
                [sys.executable, script.name],
                cwd=tmp_path,
                env=environ,
                capture_output=True,
                check=False,
                text=True,
            )
        finally:
            agent.terminate()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == _code("text", after="It prints:")


def test_every_target_is_there() -> None:
    """README: the Makefile's targets are those that `make help` names."""
    rows = _table("command | what it does", after="## Development")
    named = re.findall(r'@echo "(make \w+) ', (ROOT / "Makefile").read_text())
    assert [command.strip("`") for command, _ in rows] == named
    assert set(re.findall(r"`(make \w+)`", README)) <= set(named)


def test_every_link_leads_somewhere() -> None:
    """README: what it points to in this repository is there."""
    links = [link for link in re.findall(r"\]\((.*?)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link.partition("#")[0]).exists()] == []
    assert (ROOT / ".ci" / "run").exists()


def test_every_page_that_is_cited_is_there() -> None:
    """README: a page that a text of this repository cites by its name can be read in it."""
    folders = ("core", "projections", "adapters", "tests", "benchmarks", "docs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    missing = set()
    for path in [ROOT / "README.md", ROOT / "pyproject.toml", ROOT / "Makefile", *files]:
        is_ours = "node_modules" not in path.parts
        if is_ours and (path.suffix in (".py", ".md", ".toml") or path.name == "Makefile"):
            for page in re.findall(r"[\w./-]+\.md\b", path.read_text(encoding="utf-8")):
                if not any((base / page).exists() for base in (ROOT, ROOT / "docs", path.parent)):
                    missing.add(f"{path.relative_to(ROOT)}: {page}")
    assert not missing


def test_what_a_machine_needs() -> None:
    """README: the Python that it asks for is the one that the package asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = re.search(r"Python (3\.\d+) or newer", README)
    assert needed
    assert project["requires-python"] == f">={needed[1]}"
    assert project["license"].replace("-", " ").split()[0] in README[README.index("## Licence") :]
