"""Settings: the keys and defaults of README.md, from TOML and from the environment."""

from pathlib import Path
from typing import Any

import pytest

from locum.adapters.origins import Origin
from locum.adapters.settings import Settings, StoreSettings
from locum.adapters.settings.agents import (
    ApiKeyAuth,
    BasicAuth,
    BearerAuth,
    MtlsAuth,
    OAuth2Auth,
    OidcAuth,
    read_auth,
)
from locum.core.errors import ConfigError

from .configured import AGENT, agent


def test_defaults_are_those_of_the_api() -> None:
    """README: without a file every key has its default."""
    settings = Settings.from_mapping({"agents": [AGENT]})
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8420)
    assert settings.server.base_url == ""
    assert settings.server.api_token is None
    assert settings.store.url == "sqlite:///locum.db"
    standin = settings.standin
    assert standin.participant_id == "locum"
    assert (standin.quiet_check, standin.push_backstop) == (60.0, 300.0)
    assert (standin.cancel_grace, standin.send_timeout) == (10.0, 60.0)
    assert (standin.result_limit, standin.event_limit) == (4 * 1024**2, 16 * 1024**2)
    assert settings.telemetry.tracing is False
    assert settings.card is None
    one = settings.agents[0]
    assert (one.updates, one.follow_interval, one.card_refresh) == ("auto", 5.0, 3600.0)
    assert (one.allowed_hosts, one.allow_insecure) == ((), False)
    assert (one.max_streams, one.max_calls, one.resend) == (1000, 32, "never")
    assert (one.version, one.card_url, one.trusted_keys, one.auth) == ("", "", "", ())


def test_limits_of_the_rules_are_keys_with_the_rules_defaults() -> None:
    """J3, D4, D5, D6, D15, D17: every limit that the rules name can be set."""
    settings = Settings.from_mapping({})
    assert settings.limits.push_body_limit == 64 * 1024
    assert settings.limits.push_refusals == 60
    assert settings.limits.card_limit == 1024**2
    assert settings.standin.push_recheck == (1.0, 2.0, 4.0)
    assert settings.standin.follow_backoff == 60.0
    assert settings.standin.flip_limit == 20
    assert settings.standin.flip_window == 3600.0
    assert settings.standin.flip_interval == 60.0
    assert settings.standin.status_interval == 5.0
    assert settings.server.shutdown_timeout == 10.0


def test_a_file_with_every_key_is_read(tmp_path: Path) -> None:
    """README: a TOML with every key is read."""
    file = tmp_path / "locum.toml"
    file.write_text(
        """
        [server]
        host = "127.0.0.1"
        port = 8420
        base_url = "http://127.0.0.1:8420/"
        api_token = ""
        [store]
        url = "sqlite:///:memory:"
        [agents_defaults]
        card_refresh = "1h"
        max_calls = 8
        [standin]
        participant_id = "locum"
        quiet_check = "60s"
        push_backstop = "300s"
        cancel_grace = "10s"
        send_timeout = "60s"
        result_limit = "4MiB"
        event_limit = "16MiB"
        [telemetry]
        tracing = true
        [[agents]]
        id = "inventory"
        url = "https://inventory.example"
        card_url = ""
        version = ">=1,<2"
        updates = "push"
        follow_interval = "5s"
        allowed_hosts = ["https://files.example:8443"]
        allow_insecure = false
        max_streams = 1000
        resend = "same-id"
        auth = { type = "bearer", token_env = "INVENTORY_TOKEN" }
        trusted_keys = ""
        [card]
        name = "Planner"
        description = "Plans"
        version = "1.0.0"
        executor = "my_package.agent:Executor"
        [[card.skills]]
        id = "plan"
        name = "Plan"
        description = "Makes a plan"
        tags = ["plan"]
        """
    )
    settings = Settings.load(file, {})
    assert settings.server.base_url == "http://127.0.0.1:8420"
    assert settings.store.path is None
    (one,) = settings.agents
    assert (one.version, one.resend, one.max_calls) == (">=1,<2", "same-id", 8)
    assert one.allowed_hosts[0].matches(Origin("https", "files.example", 8443))
    assert one.auth == (BearerAuth(token_env="INVENTORY_TOKEN"),)
    assert settings.card is not None
    assert settings.card.executor == "my_package.agent:Executor"
    assert settings.card.skills[0].tags == ("plan",)
    assert settings.card.capabilities.push_notifications


@pytest.mark.parametrize(
    "table, read",
    [
        ({"type": "bearer", "token_env": "T"}, BearerAuth(token_env="T")),
        (
            {"type": "api_key", "name": "X-Key", "in": "query", "value_env": "K"},
            ApiKeyAuth(name="X-Key", in_="query", value_env="K"),
        ),
        (
            {"type": "basic", "username": "u", "password_env": "P"},
            BasicAuth(username="u", password_env="P"),
        ),
        (
            {
                "type": "oauth2",
                "token_url": "https://id.example/token",
                "client_id": "c",
                "client_secret_env": "S",
                "scopes": ["a"],
                "audience": "x",
            },
            OAuth2Auth(
                token_url="https://id.example/token",
                client_id="c",
                client_secret_env="S",
                scopes=("a",),
                audience="x",
            ),
        ),
        (
            {
                "type": "oidc",
                "issuer": "https://id.example",
                "client_id": "c",
                "client_secret_env": "S",
            },
            OidcAuth(issuer="https://id.example", client_id="c", client_secret_env="S"),
        ),
        (
            {"type": "mtls", "cert_file": "c.pem", "key_file": "k.pem", "ca_file": ""},
            MtlsAuth(cert_file="c.pem", key_file="k.pem"),
        ),
    ],
)
def test_auth_of_each_type_is_read(table: dict[str, Any], read: object) -> None:
    """API: `auth` is a table of one of six types."""
    assert Settings.from_mapping(agent(auth=table)).agents[0].auth == (read,)


def test_auth_is_read_by_itself() -> None:
    """API: the explicit client takes the same table as `auth` does."""
    table = {"type": "bearer", "token_env": "T"}
    assert read_auth(table, "credentials") == (BearerAuth(token_env="T"),)
    with pytest.raises(ConfigError, match=r"credentials\.type"):
        read_auth({}, "credentials")


def test_two_credentials_can_go_together() -> None:
    """A3: a card may need two schemes at once, so `auth` may be a list of tables."""
    tables = [
        {"type": "bearer", "token_env": "T"},
        {"type": "mtls", "cert_file": "c.pem", "key_file": "k.pem"},
    ]
    assert len(Settings.from_mapping(agent(auth=tables)).agents[0].auth) == 2


def test_the_environment_lies_over_the_file() -> None:
    """API: every key also comes as LOCUM_<SECTION>__<KEY>, each in its own type."""
    settings = Settings.from_mapping(
        {"standin": {"quiet_check": "60s"}, "agents": [AGENT | {"id": "big-store"}]},
        {
            "LOCUM_SERVER__PORT": "9000",
            "LOCUM_SERVER__API_TOKEN": "let me in",
            "LOCUM_STANDIN__QUIET_CHECK": "2.5",
            "LOCUM_STANDIN__PUSH_RECHECK": "1s, 2s",
            "LOCUM_TELEMETRY__TRACING": "true",
            "LOCUM_AGENTS_DEFAULTS__CARD_REFRESH": "5m",
            "LOCUM_AGENTS__BIG_STORE__FOLLOW_INTERVAL": "7s",
            "LOCUM_AGENTS__BIG_STORE__ALLOWED_HOSTS": "a.example, https://b.example",
            "LOCUM_AGENTS__0__MAX_CALLS": "3",
            "LOCUM_AGENTS__BIG_STORE__AUTH__TYPE": "bearer",
            "LOCUM_AGENTS__BIG_STORE__AUTH__TOKEN_ENV": "TOKEN",
            "LOCUM_AGENTS__OTHER__URL": "https://other.example",
            "LOCUM_AGENTS__OTHER__AUTH": '{ type = "bearer", token_env = "OTHER" }',
            "LOCUM_AGENTS__1__ID": "third",
            "LOCUM_AGENTS__1__URL": "https://third.example",
            "LOCUM_CARD__NAME": "Planner",
            "LOCUM_CARD__DESCRIPTION": "Plans",
            "LOCUM_CARD__CAPABILITIES__STREAMING": "false",
            "LOCUM_SERVER": "http://127.0.0.1:1",
            "PATH": "/bin",
        },
    )
    assert settings.server.port == 9000
    assert settings.server.api_token is not None
    assert settings.server.api_token.reveal() == "let me in"
    assert settings.standin.quiet_check == 2.5
    assert settings.standin.push_recheck == (1.0, 2.0)
    assert settings.telemetry.tracing is True
    store, third, other = settings.agents
    assert third.id == "third"
    assert (store.follow_interval, store.max_calls, store.card_refresh) == (7.0, 3, 300.0)
    assert [p.host for p in store.allowed_hosts] == ["a.example", "b.example"]
    assert store.auth == (BearerAuth(token_env="TOKEN"),)
    assert (other.id, other.auth) == ("other", (BearerAuth(token_env="OTHER"),))
    assert settings.card is not None
    assert settings.card.capabilities.streaming is False


@pytest.mark.parametrize(
    "written, seconds",
    [("250ms", 0.25), ("60s", 60.0), ("5m", 300.0), ("1h", 3600.0), ("2d", 172800.0), (1.5, 1.5)],
)
def test_durations(written: str | float, seconds: float) -> None:
    """API: a duration is a text with a unit, or a number of seconds."""
    settings = Settings.from_mapping({"standin": {"quiet_check": written}})
    assert settings.standin.quiet_check == pytest.approx(seconds)


@pytest.mark.parametrize("written, size", [("4MiB", 4194304), ("64KiB", 65536), (7, 7)])
def test_sizes(written: str | int, size: int) -> None:
    """API: a size is a text with a unit, or a number of bytes."""
    settings = Settings.from_mapping({"standin": {"result_limit": written}})
    assert settings.standin.result_limit == size


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_loopback_no_token_is_needed(host: str) -> None:
    """J1: on loopback, and anywhere with a token, it starts."""
    assert Settings.from_mapping({"server": {"host": host}}).server.is_loopback
    Settings.from_mapping({"server": {"host": "0.0.0.0", "api_token": "t0ken"}})


def test_without_a_path_only_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """API: `load(None)` takes defaults and the process's environment."""
    monkeypatch.setenv("LOCUM_SERVER__PORT", "8421")
    assert Settings.load().server.port == 8421
    assert Settings.from_mapping({}).server.port == 8420


@pytest.mark.parametrize(
    "server, url",
    [
        ({}, "http://127.0.0.1:8420"),
        ({"host": "0.0.0.0", "api_token": "t"}, "http://127.0.0.1:8420"),
        ({"host": "::1", "port": 80}, "http://[::1]"),
        ({"base_url": "https://locum.example/x/"}, "https://locum.example/x"),
    ],
)
def test_own_url(server: dict[str, Any], url: str) -> None:
    """A9: `self` is reached at base_url, or at the address that locum listens on."""
    assert Settings.from_mapping({"server": server}).server.own_url == url


def test_store_path() -> None:
    """API: `sqlite:///x` is relative, `sqlite:////x` absolute."""
    assert Settings.from_mapping({}).store.path == Path("locum.db")
    settings = Settings.from_mapping({"store": {"url": "sqlite:////var/locum.db"}})
    assert settings.store.path == Path("/var/locum.db")


def test_the_store_alone_can_be_read(tmp_path: Path) -> None:
    """CLI: who only reads the store needs `[store]` to be right, and nothing else."""
    file = tmp_path / "locum.toml"
    file.write_text('[store]\nurl = "sqlite:///a.db"\n[server]\nport = "many"\n')
    assert StoreSettings.load(file, {}).url == "sqlite:///a.db"
    assert StoreSettings.load(file, {"LOCUM_STORE__URL": "sqlite:///b.db"}).url == "sqlite:///b.db"
    assert StoreSettings.load(None, {}) == StoreSettings()
    file.write_text("[store]\npath = 1\n")
    with pytest.raises(ConfigError, match=r"store\.path"):
        StoreSettings.load(file, {})


def test_where_self_is_reached() -> None:
    """A9: at base_url, else at the port on this machine; with port 0 there is nothing to tell."""
    server = {"host": "0.0.0.0", "port": 8421, "api_token": "t"}
    assert Settings.from_mapping({"server": server}).server.own_url == "http://127.0.0.1:8421"
    server["base_url"] = "https://locum.example/"
    assert Settings.from_mapping({"server": server}).server.own_url == "https://locum.example"
    with pytest.raises(ConfigError, match=r"server\.port: found 0 without server\.base_url"):
        _ = Settings.from_mapping({"server": {"port": 0}}).server.own_url
