"""Settings that cannot be: refused with the key's path, and never with a secret."""

import re
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from locum.adapters.settings import Settings
from locum.core.errors import ConfigError
from locum.core.subtask import FLIPS_KEPT

from .configured import AGENT, agent, refused


@pytest.mark.parametrize(
    "tables, key, found, accepted",
    [
        ({"servr": {}}, "servr", "unknown", "server, store"),
        ({"server": {"prot": 1}}, "server.prot", "port meant", "host, port"),
        ({"server": {"port": "8420"}}, "server.port", "'8420'", "0 to 65535"),
        ({"server": {"port": True}}, "server.port", "true", "whole number"),
        ({"server": {"port": 70000}}, "server.port", "70000", "65535"),
        ({"server": {"port": 1.5}}, "server.port", "number 1.5", "whole number"),
        ({"server": {"port": {}}}, "server.port", "a table", "whole number"),
        ({"server": {"port": [1]}}, "server.port", "a list of 1", "whole number"),
        ({"server": {"port": date(2026, 1, 1)}}, "server.port", "a date", "whole number"),
        (
            {"server": {"port": datetime(2026, 1, 1, tzinfo=UTC)}},
            "server.port",
            "a date with a time",
            "whole number",
        ),
        ({"server": {"port": time.min}}, "server.port", "a time", "whole number"),
        ({"server": {"port": None}}, "server.port", "(NoneType)", "whole number"),
        ({"server": {"port": "1" * 100}}, "server.port", "1…", "whole number"),
        ({"server": {"host": 5}}, "server.host", "number 5", "IP address"),
        ({"server": {"host": "a/b"}}, "server.host", "'a/b'", "IP address"),
        ({"server": {"base_url": 5}}, "server.base_url", "not shown", "https://"),
        ({"server": {"base_url": "http://x/?a=1"}}, "server.base_url", "a query", "https://"),
        ({"server": {"host": "a b"}}, "server.host", "'a b'", "IP address"),
        ({"server": {"base_url": "/x"}}, "server.base_url", "relative", "https://"),
        ({"server": 5}, "server", "a number that is not shown", "one table: [server]"),
        ({"server": [{"port": 1}]}, "server", "a list that is not shown", "one table: [server]"),
        ({"server": True}, "server", "true or false that is not shown", "one table: [server]"),
        ({"store": {"url": "postgres://x"}}, "store.url", "not shown", "sqlite:///"),
        ({"standin": {"quiet_check": "60"}}, "standin.quiet_check", "'60'", '"60s"'),
        ({"standin": {"quiet_check": "60 parsecs"}}, "standin.quiet_check", "parsecs", '"5m"'),
        ({"standin": {"quiet_check": 0}}, "standin.quiet_check", "number 0", "at least"),
        ({"standin": {"quiet_check": float("nan")}}, "standin.quiet_check", "nan", "at least"),
        ({"standin": {"result_limit": "4 apples"}}, "standin.result_limit", "apples", "4MiB"),
        ({"standin": {"result_limit": 1.5}}, "standin.result_limit", "1.5", "4MiB"),
        ({"standin": {"push_recheck": ["1s", 0]}}, "standin.push_recheck[1]", "0", "duration"),
        ({"telemetry": {"tracing": "yes"}}, "telemetry.tracing", "'yes'", "true or false"),
        (agent(follow_interval="500ms"), "agents[0].follow_interval", "500ms", "at least 1 s"),
        (agent(updates="sometimes"), "agents[0].updates", "sometimes", '"follow"'),
        (agent(updates="push"), "agents[0].updates", "base_url", '"follow"'),
        (agent(version=1), "agents[0].version", "number 1", "PEP 440"),
        (agent(allowed_hosts="a.example"), "agents[0].allowed_hosts", "'a.example'", "a list"),
        (agent(allowed_hosts=[5]), "agents[0].allowed_hosts[0]", "number 5", "origin"),
        (agent(version="one"), "agents[0].version", "'one'", "PEP 440"),
        (agent(url=""), "agents[0].url", "nothing", "http"),
        (agent(url="ftp://x"), "agents[0].url", "ftp", "http://"),
        (agent(id="self"), "agents[0].id", "self", "another id"),
        (agent(id="a b"), "agents[0].id", "'a b'", "letters"),
        (agent(id=""), "agents[0].id", "''", "letters"),
        (agent(allowed_hosts=["a/b"]), "agents[0].allowed_hosts[0]", "path", "origin"),
        (agent(auth={"type": "magic"}), "agents[0].auth.type", "magic", '"bearer"'),
        (agent(auth={"type": "bearer"}), "agents[0].auth.token_env", "nothing", "a value"),
        (agent(colour="red"), "agents[0].colour", "unknown", "follow_interval"),
        ({"agents": {}}, "agents", "one table: [agents]", "[[agents]], with two brackets"),
        ({"agents": {"inventory": AGENT}}, "agents", "[agents.NAME]", "[[agents]]"),
        ({"agents": "x"}, "agents", "a text that is not shown", "[[agents]]"),
        ({"agents": ["x"]}, "agents[0]", "a text that is not shown", "a table"),
        ({"agents": [{"url": "http://x"}]}, "agents[0].id", "nothing", "a value"),
        ({"agents": [AGENT, AGENT]}, "agents[1].id", "inventory", "a new id"),
        ({"agents_defaults": {"id": "x"}}, "agents_defaults.id", "an id", "[[agents]]"),
        ({"agents_defaults": {"nope": 1}}, "agents_defaults.nope", "unknown", "url"),
        ({"card": {"name": "x"}}, "card.description", "nothing", "a value"),
        (
            {"card": {"name": "x", "description": "y", "executor": "module"}},
            "card.executor",
            "'module'",
            "package.module:attribute",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    tables: dict[str, Any], key: str, found: str, accepted: str
) -> None:
    """API, A9, D6: a refusal names the key's full path, what was found and what is accepted."""
    error = refused(tables)
    assert error.code == "config.invalid"
    assert error.detail["key"] == key
    assert found in error.detail["found"]
    assert accepted in error.detail["accepted"]
    assert str(error).startswith(f"{key}: found ")


def test_the_flip_limit_is_one_that_is_reached() -> None:
    """D15: more flips than are kept could not be counted, so that nothing would be bounded."""
    settings = Settings.from_mapping({"standin": {"flip_limit": FLIPS_KEPT}})
    assert settings.standin.flip_limit == FLIPS_KEPT
    error = refused({"standin": {"flip_limit": FLIPS_KEPT + 1}})
    assert error.detail["key"] == "standin.flip_limit"
    assert error.detail["accepted"] == f"a whole number from 1 to {FLIPS_KEPT}"


def test_the_environment_is_refused_by_the_same_rules_and_named() -> None:
    """API: a variable that is wrong is named together with the key it stands for."""
    error = refused({}, {"LOCUM_STANDIN__QUIET_CHECK": "soon"})
    assert error.detail["key"] == "standin.quiet_check"
    assert "LOCUM_STANDIN__QUIET_CHECK" in error.detail["found"]
    error = refused({}, {"LOCUM_SERVER__COLOUR": "red"})
    assert error.detail["key"] == "server.colour"
    assert "LOCUM_SERVER__COLOUR" in error.detail["found"]
    assert refused({}, {"LOCUM_PLANET__COLOUR": "red"}).detail["key"] == "planet"
    assert refused({}, {"LOCUM_AGENTS__7__URL": "http://x"}).detail["key"] == "agents[7]"
    assert refused({}, {"LOCUM_AGENTS__X": "http://x"}).detail["key"] == "agents.x"
    deep = {"LOCUM_SERVER__PORT__X": "1"}
    assert refused({"server": {"port": 5}}, deep).detail["key"] == "server.port"
    no_list = {"LOCUM_AGENTS__X__URL": "http://x"}
    assert refused({"agents": 5}, no_list).detail["key"] == "agents"
    alike = {"agents": [AGENT | {"id": "a-b"}, AGENT | {"id": "a.b"}]}
    assert "a-b, a.b" in refused(alike, {"LOCUM_AGENTS__A_B__URL": "http://x"}).detail["found"]


@pytest.mark.parametrize("token", ["", "   ", None])
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "locum.example"])
def test_off_loopback_without_a_token_is_refused(host: str, token: str | None) -> None:
    """J1: bound off loopback without a token, an empty or blank one too, there is no start."""
    server: dict[str, Any] = {"host": host} | ({} if token is None else {"api_token": token})
    error = refused({"server": server})
    assert error.detail["key"] == "server.api_token"
    assert host in error.detail["found"]


@pytest.mark.parametrize("token", [" t0ken", "t0ken "])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    """J1: HTTP drops blanks at the ends of a header, so that nobody could ever get in."""
    error = refused({"server": {"api_token": token}})
    assert error.detail["key"] == "server.api_token"
    assert "t0ken" not in str(error.detail)


def test_an_empty_host_is_refused() -> None:
    """J1: an empty host would bind to every address, and is no host."""
    assert refused({"server": {"host": ""}}).detail["key"] == "server.host"


def test_secrets_are_neither_shown_nor_echoed() -> None:
    """G8, J2: a secret is in no repr and in no refusal, wherever it was put by mistake."""
    settings = Settings.from_mapping({"server": {"api_token": "s3cr3t-token"}})
    assert "s3cr3t" not in repr(settings)
    assert "s3cr3t" not in str(settings)
    assert settings.server.api_token is not None
    assert settings.server.api_token.matches("s3cr3t-token")
    assert not settings.server.api_token.matches("s3cr3t-tokem")
    for tables in (
        {"server": {"api_token": "s3cr3t\n"}},
        {"api_token": "s3cr3t"},
        {"server": {"token": "s3cr3t"}},
        {"store": {"url": "postgres://user:s3cr3t@host/db"}},
        agent(auth={"type": "api_key", "name": "s3cr3t 1", "value_env": "K"}),
        {"server": {"api_token": ["s3cr3t"]}},
        agent(auth="s3cr3t"),
        agent(auth={"type": "bearer", "token": "s3cr3t"}),
        agent(auth={"type": "bearer", "token_env": "s3cr3t-token"}),
        agent(auth={"type": "basic", "username": "s3cr3t:x", "password_env": "P"}),
        agent(url="https://user:s3cr3t@inventory.example"),
        agent(allowed_hosts=["https://user:s3cr3t@inventory.example"]),
    ):
        assert "s3cr3t" not in str(refused(tables)), tables
    error = refused({}, {"LOCUM_AGENTS__X__AUTH": '{ type = "bearer", token = "s3cr3t"'})
    assert "s3cr3t" not in str(error)


def test_a_file_that_is_not_there_or_not_toml(tmp_path: Path) -> None:
    """API: a configuration that cannot be read stops the start and names the file."""
    with pytest.raises(ConfigError, match=re.escape("none.toml")):
        Settings.load(tmp_path / "none.toml", {})
    (tmp_path / "bad.toml").write_text("[server\n")
    with pytest.raises(ConfigError, match=r"bad\.toml: found no TOML.*line 1"):
        Settings.load(tmp_path / "bad.toml", {})
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        Settings.load(tmp_path / "latin.toml", {})
