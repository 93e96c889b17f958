"""How commands end when something is wrong: a sentence with a code, a status, never a stack trace."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent

from .explicit import in_thread
from .site import site
from .terminal import LOCUM, Said, clean_environ, cli, ended, started

CHANGES = (
    ("delegate", "raw", "Count"),
    ("reply", "st-1", "x"),
    ("cancel", "st-1"),
    ("complete", "p"),
)
READS = (("ls",), ("show", "st-1"), ("events", "st-1"), ("notifications", "p"), ("rebuild",))
EVIL = "a\x1b[31mred\x1b]0;title\x07\u009b2J\u202eb\x7f\r\n\tc"
"""Colours, a window's title, a C1 control, a change of direction, a DEL, a tab."""


def _sentence(said: Said, code: str) -> str:
    """What was said; checks that it is one sentence with its code, and nothing else."""
    assert (said.status, said.out) == (1, ""), said
    assert said.err.startswith(f"{code}: ")
    assert said.err.count("\n") == 1
    return said.err


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("arguments", CHANGES, ids=lambda arguments: arguments[0])
async def test_without_a_server(arguments: tuple[str, ...]) -> None:
    """CLI: what changes something says that there is no server, and what to do; so in JSON."""
    server = f"http://127.0.0.1:{_free_port()}"
    said = await cli(*arguments, "--server", server)
    assert f"{server}. Start one with `locum serve`" in _sentence(said, "server.unreachable")
    said = await cli(*arguments, "--json", LOCUM_SERVER=server)
    assert (said.status, said.out) == (1, "")
    problem = json.loads(said.err)
    assert (problem["code"], problem["status"]) == ("server.unreachable", 503)
    assert set(problem) == {"type", "title", "status", "detail", "code"}


@pytest.mark.parametrize(
    "server", ["nonsense", "ftp://x", "http://[", "http://u:p@127.0.0.1", "http://"]
)
async def test_a_server_that_is_no_url(server: str) -> None:
    """CLI: a `--server` that cannot be called is told as what it is."""
    assert "--server" in _sentence(
        await cli("complete", "p", "--server", server), "request.invalid"
    )


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"Content-Type": "text/html"}, b"<h1>hello</h1>"),
        (200, {"Content-Type": "application/json"}, b"[1]"),
        (404, {"Content-Type": "application/json"}, b'{"detail": "Not Found"}'),
        (302, {"Location": "http://elsewhere.example/"}, b""),
        (500, {}, b""),
    ],
    ids=["html", "list", "foreign", "redirect", "empty"],
)
async def test_a_server_that_is_not_locum(answer: tuple[int, dict[str, str], bytes]) -> None:
    """CLI: what answers otherwise than locum does is not taken for it."""
    async with RawAgent() as other:
        other.on("/v1/parents/p/complete", answer)
        said = await cli("complete", "p", "--server", other.url)
        assert "is not locum" in _sentence(said, "server.no_answer")


async def test_a_mistake_of_ours_is_a_sentence() -> None:
    """J2: what nobody foresaw ends in a sentence too, which says where it was."""
    async with RawAgent() as other:
        empty = (201, {"Content-Type": "application/json"}, b"{}")
        other.on("/v1/parents/terminal/sub-tasks", empty)
        said = await cli("delegate", "raw", "Count", "--server", other.url)
        assert "KeyError: 'id' (changing.py:" in _sentence(said, "locum.mistake")


async def test_the_token(tmp_path: Path) -> None:
    """J1: the configured token is sent; without it the refusal says what to do."""
    async with site(tmp_path, server={"api_token": "t0ken"}) as on:
        assert (await on.cli("complete", "p")).status == 0
        said = await cli("complete", "p", "--server", f"http://127.0.0.1:{on.port}")
        _sentence(said, "request.unauthorized")
        said = await cli(
            "complete",
            "p",
            LOCUM_SERVER=f"http://127.0.0.1:{on.port}",
            LOCUM_SERVER__API_TOKEN="t0ken",
        )
        assert said.status == 0, said.err


async def test_ids_that_are_none(tmp_path: Path) -> None:
    """CLI: an empty id, dots, a slash or a control character lead nowhere else."""
    async with site(tmp_path) as on:
        _sentence(await on.cli("cancel", ""), "request.invalid")
        _sentence(await on.cli("cancel", "a\tb"), "request.invalid")
        for strange in (".", "..", "a/b", "../../healthz", "%2e", "ü?#"):
            said = await on.cli("cancel", strange)
            assert repr(strange) in _sentence(said, "sub_task.not_found")
            assert (await on.cli("complete", strange)).out == f"{strange} may complete\n"


async def test_server_and_config_are_no_settings(tmp_path: Path) -> None:
    """CLI: LOCUM_SERVER and LOCUM_CONFIG are the options', and trouble no setting."""
    config = tmp_path / "other.toml"
    config.write_text(f'[store]\nurl = "sqlite:///{tmp_path}/none.db"\n')
    told = {"LOCUM_CONFIG": str(config), "LOCUM_SERVER": "http://127.0.0.1:9"}
    assert "none.db" in _sentence(await cli("ls", **told), "store.missing")
    _sentence(await cli("complete", "p", **told), "server.unreachable")
    assert (await cli("agents", **told)).status == 0
    told["LOCUM_STORE__URL"] = f"sqlite:///{tmp_path}/another.db"
    assert "another.db" in _sentence(await cli("ls", **told), "store.missing")


@pytest.mark.parametrize(
    "text, key",
    [
        ("[server]\nport = 'x'\n", "server.port"),
        ("[serve]\n", "serve"),
        ("[server\n", "locum.toml"),
        ("[[agents]]\nid = 'self'\nurl = 'http://a.example'\n", "agents[0].id"),
    ],
    ids=["type", "section", "toml", "agent"],
)
async def test_a_configuration_that_is_wrong(tmp_path: Path, text: str, key: str) -> None:
    """CLI: the key, what was found and what is accepted; whichever command reads it."""
    config = tmp_path / "locum.toml"
    config.write_text(text)
    for command in (("serve",), ("agents",), ("complete", "p")):
        said = await cli(*command, "--config", str(config))
        assert f"{key}: found " in _sentence(said, "config.invalid")
    missing = str(tmp_path / "none.toml")
    for command in (*READS, ("serve",), ("complete", "p")):
        said = await cli(*command, "--config", missing)
        assert missing in _sentence(said, "config.invalid")


@pytest.mark.parametrize("arguments", READS, ids=lambda arguments: arguments[0])
async def test_a_store_that_cannot_be_used(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """CLI: no store, no folder, a folder in its place, and a file that is none: told in words."""
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "text.db").write_text(
        "This is no database, and it is long enough to be read. " * 40
    )
    for name, code in (
        ("none.db", "store.missing"),
        ("no/where.db", "store.no_folder"),
        ("folder.db", "store.failed"),
        ("text.db", "store.failed"),
    ):
        said = await cli(*arguments, LOCUM_STORE__URL=f"sqlite:///{tmp_path / name}")
        assert name in _sentence(said, code) or name == "no/where.db"
    said = await cli(*arguments, "--json", LOCUM_STORE__URL="postgres://x")
    assert json.loads(said.err)["code"] == "config.invalid"
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("show",),
        ("ls", "--nonsense"),
        ("notifications", "p", "--after", "x"),
        ("notifications", "p", "--after", "-1"),
        ("delegate", "raw"),
        *(("delegate", "raw", "Count", "--timeout", odd) for odd in ("nan", "inf", "-1", "0")),
        ("ask", "http://127.0.0.1:1", "Count", "--timeout", "nan"),
        ("serve", "--log-level", "LOUD"),
        ("ls", "--config", "/"),
    ],
    ids=" ".join,
)
async def test_usage(arguments: tuple[str, ...]) -> None:
    """CLI: a command that is used wrongly is exit status 2, and says how it is used."""
    said = await cli(*arguments)
    assert (said.status, said.out) == (2, "")
    assert "Usage: locum" in said.err
    assert "Traceback" not in said.err


@asynccontextmanager
async def _evil(folder: Path) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """A store with a sub-task whose agent wrote `EVIL`; its id, and the environment to read it."""
    async with site(folder) as on:
        done = T("COMPLETED", artifacts=[A("a", EVIL, name=EVIL)])
        on.agent.on("SendStreamingMessage", [EV(done), EOF], [EV(T("FAILED", EVIL)), EOF])
        on.agent.task = done
        sub_task_id = await on.delegate("Count", "--wait")
        on.agent.task = T("FAILED", EVIL, id="t2")
        await on.cli("delegate", "raw", "Count", "--wait")
        on.agent.card["name"] = EVIL
        yield sub_task_id, {"LOCUM_CONFIG": str(on.config)}


async def test_no_agent_drives_the_terminal(tmp_path: Path) -> None:
    """CLI: control characters from agents never reach the terminal, in JSON they are escaped."""
    async with _evil(tmp_path) as (sub_task_id, told):
        commands = (
            ("ls",),
            ("show", sub_task_id),
            ("events", sub_task_id),
            ("notifications", "terminal"),
            ("agents",),
        )
        for command in commands:
            said = await cli(*command, **told)
            assert "red" in said.out
            bad = {c for c in said.out + said.err if not (c.isprintable() or c == "\n")}
            assert not bad, command
            said = await cli(*command, "--json", **told)
            assert "red" in said.out
            bad = {c for c in said.out + said.err if not (c.isprintable() or c == "\n")}
            assert not bad, command
        row = json.loads((await cli("show", sub_task_id, "--json", **told)).out)
        assert row["text"] == EVIL


async def test_a_reader_that_has_gone(tmp_path: Path) -> None:
    """CLI: `locum ls | head -1`: a pipe that nobody reads ends a command without a word."""
    async with site(tmp_path) as on:
        await on.delegate()
        environ = clean_environ(LOCUM_CONFIG=str(on.config))
        for arguments in ("ls", "ls --json", "machine", "export --all", "--help"):
            script = f"({' '.join(LOCUM)} {arguments}; echo $? >&2) | true"
            done = await in_thread(
                lambda script=script: subprocess.run(
                    ["/bin/sh", "-c", script], capture_output=True, check=True, env=environ
                )
            )
            assert (done.stdout, done.stderr) == (b"", b"1\n"), arguments


async def test_an_encoding_that_lacks_letters(tmp_path: Path) -> None:
    """CLI: what standard output cannot say is escaped, not an error."""
    async with site(tmp_path) as on:
        await on.delegate("Zähle die Stühle …")
        environ = {"LOCUM_CONFIG": str(on.config), "PYTHONIOENCODING": "ascii"}
        async with started("ls", **environ) as process:
            said = await ended(process)
        assert (said.status, said.err) == (0, "")
        assert r"Z\xe4hle" in said.out


async def test_an_argument_that_is_no_text(tmp_path: Path) -> None:
    """CLI: bytes that are not UTF-8 are refused in words."""
    async with site(tmp_path) as on:
        for arguments in (["cancel", b"\xff"], ["delegate", "raw", b"\xff"]):
            done = subprocess.run(
                [sys.executable, "-m", "locum.adapters.cli", *arguments],
                capture_output=True,
                check=False,
                env=clean_environ(LOCUM_CONFIG=str(on.config)),
            )
            assert done.returncode == 1
            assert done.stderr.startswith(b"request.invalid: An ")


async def test_a_server_that_is_elsewhere(tmp_path: Path) -> None:
    """CLI: why nobody answers is said where it is not that nobody listens."""
    said = await cli("complete", "p", "--server", "http://nowhere.invalid")
    sentence = _sentence(said, "server.unreachable")
    assert re.search(r"http://nowhere\.invalid \([^()]+\)\. Start one with", sentence)
    async with site(tmp_path) as on:
        server = f"https://127.0.0.1:{on.port}"
        said = await cli("complete", "p", "--server", server)
        assert f"{server} (TLS: " in _sentence(said, "server.unreachable")


async def test_an_agent_that_is_not_there() -> None:
    """CLI, A4: what was found is said once, and what to change."""
    url = f"http://127.0.0.1:{_free_port()}"
    sentence = _sentence(await cli("ask", url, "hello"), "card.unreachable")
    assert sentence.count("cannot be") == 1
    assert "See that the agent runs there, or mend its URL." in sentence


async def test_an_empty_answer_is_told_as_one(tmp_path: Path) -> None:
    """CLI, C12: an empty reply is refused for what it is; it was told what a goal would be."""
    async with site(tmp_path) as on:
        sentence = _sentence(await on.cli("reply", "st-1", ""), "request.invalid")
        assert "text: found an empty string; accepted: the answer" in sentence
