"""Settings: every key, its default and what it may be, from TOML and environment. Starts nothing.

Durations are seconds (float), sizes bytes (int) once read. No secret is kept here but
`server.api_token`; credentials are named by environment variables and read when they are used.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from locum.core.errors import ConfigError

from ..origins import Origin
from ..secret import Secret
from .agents import AgentSettings, CardSettings, own_agent, read_agents, read_defaults
from .places import Host, HttpUrl
from .rules import (
    Duration,
    Flag,
    ListOf,
    SecretText,
    Size,
    Text,
    Whole,
)
from .sources import overlay, read_toml
from .tables import build, read_fields

__all__ = [
    "AgentSettings",
    "CardSettings",
    "LimitSettings",
    "ServerSettings",
    "Settings",
    "StandinSettings",
    "StoreSettings",
    "TelemetrySettings",
]

_MEMORY = "sqlite:///:memory:"


class ServerSettings(Struct, frozen=True, kw_only=True):
    """`[server]`: where locum listens, and who may talk to it (J1)."""

    host: Annotated[str, Host()] = "127.0.0.1"
    port: Annotated[int, Whole(0, 65535)] = 8420
    base_url: Annotated[str, HttpUrl(empty=True, base=True)] = ""
    """The public URL, without a slash at its end; empty: no push (D1)."""
    api_token: Annotated[Secret | None, SecretText()] = None
    shutdown_timeout: Annotated[float, Duration()] = 10.0
    """Seconds within which a shutdown ends (F4)."""

    @property
    def is_loopback(self) -> bool:
        """True when only this machine can connect."""
        return Origin.at(self.host).is_loopback

    @property
    def own_url(self) -> str:
        """`base_url`, or where this machine itself reaches the server (A9).

        Raises ConfigError with port 0, which tells none; `serve` knows by then which it is.
        """
        if self.base_url:
            return self.base_url
        if not self.port:
            raise ConfigError(
                "server.port",
                found="0 without server.base_url, so that nobody can tell where `self` is reached",
                accepted="a port from 1 to 65535; or server.base_url (A9)",
            )
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared with, not bound to
        return str(Origin.at(host, self.port))


class StoreSettings(Struct, frozen=True, kw_only=True):
    """`[store]`: where the record is kept."""

    url: Annotated[
        str, Text(f"sqlite:///<path> or {_MEMORY}", pattern=r"sqlite:///[^?#]+", secret=True)
    ] = "sqlite:///locum.db"
    batch: Annotated[int, Whole(1, 10_000)] = 256
    """How many waiting commands are committed together at most."""
    owner_wait: Annotated[float, Duration(0.0)] = 15.0
    """Seconds in which the harness before, which may take ten to stop, has to let go of it (I2)."""

    @classmethod
    def load(
        cls, path: str | Path | None = None, environ: Mapping[str, str] | None = None
    ) -> "StoreSettings":
        """Only `[store]`, from where `Settings.load` has it, for who needs nothing else.

        Raises ConfigError like `Settings.load`, but judges no other section.
        """
        tables = read_toml(Path(path)) if path is not None else {}
        merged = overlay(tables, os.environ if environ is None else environ)
        return build(cls, read_fields(cls, merged.get("store", {}), "store"), "store")

    @property
    def path(self) -> Path | None:
        """The SQLite file; None for a store in memory."""
        return None if self.url == _MEMORY else Path(self.url.removeprefix("sqlite:///"))


class StandinSettings(Struct, frozen=True, kw_only=True):
    """`[standin]`: how a sub-task is stood in for; the rule of each key is named beside it."""

    participant_id: Annotated[
        str, Text("printable ASCII, at most 200 characters", pattern=r"[!-~]+", most=200)
    ] = "locum"  # C9: it goes into a header
    quiet_check: Annotated[float, Duration()] = 60.0  # D8
    push_backstop: Annotated[float, Duration()] = 300.0  # D8
    push_recheck: Annotated[tuple[float, ...], ListOf(Duration())] = (1.0, 2.0, 4.0)  # D4
    follow_backoff: Annotated[float, Duration(1.0)] = 60.0  # D6: no follow waits longer
    flip_limit: Annotated[int, Whole(1, 64)] = 20  # D15: core keeps no more (FLIPS_KEPT)
    flip_window: Annotated[float, Duration()] = 3600.0  # D15
    flip_interval: Annotated[float, Duration()] = 60.0  # D15
    status_interval: Annotated[float, Duration(0.0)] = 5.0  # D17
    send_timeout: Annotated[float, Duration()] = 60.0  # C7
    retry_first: Annotated[float, Duration()] = 1.0  # C7, I3: the first wait; it then doubles
    retry_backoff: Annotated[float, Duration()] = 60.0  # C7, I3: no retry waits longer
    cancel_grace: Annotated[float, Duration(0.0)] = 10.0  # F2
    cancel_link_wait: Annotated[float, Duration(0.0)] = 2.0  # F2: "for a moment"
    result_limit: Annotated[int, Size()] = 4 * 1024**2  # J3
    event_limit: Annotated[int, Size()] = 16 * 1024**2  # J3


class LimitSettings(Struct, frozen=True, kw_only=True):
    """`[limits]`: what may be how big and how long, at the door and on the wire (J3, D5)."""

    body_limit: Annotated[int, Size()] = 8 * 1024**2
    """Bytes of one request to the HTTP API."""
    body_timeout: Annotated[float, Duration()] = 30.0
    """Seconds in which a request's body has to arrive."""
    push_body_limit: Annotated[int, Size()] = 64 * 1024
    push_refusals: Annotated[int, Whole(1, 1_000_000)] = 60
    """Refused pushes from one source in a minute, past which the answer is 429."""
    header_limit: Annotated[int, Size(256)] = 16 * 1024
    """Bytes of one line of a message's head: a header with its name."""
    header_count: Annotated[int, Whole(10, 10_000)] = 256
    """Headers of one message."""
    error_limit: Annotated[int, Size()] = 256 * 1024
    """Bytes that are read of an agent's answer that is an error; the rest is cut off."""
    value_limit: Annotated[int, Whole(1000, 100_000_000)] = 100_000
    """JSON values in one server-sent event or JSON answer of an agent's, or in one request to the
    HTTP API (J3, J4)."""
    unfinished_limit: Annotated[int, Size()] = 64 * 1024**2
    """Bytes of events and answers that all streams of one agent have begun and not ended (J3)."""
    self_body_limit: Annotated[int, Size()] = 1024**2
    """Bytes of one request to `self`, which anybody may send; `body_limit` holds as well (J4)."""
    self_value_limit: Annotated[int, Whole(100, 100_000_000)] = 2_000
    """JSON values in one request to `self` (J4)."""
    self_task_limit: Annotated[int, Size()] = 4 * 1024**2
    """Bytes of one task of `self`, past which it takes no more messages (J3)."""
    self_tasks_limit: Annotated[int, Size()] = 256 * 1024**2
    """Bytes of all tasks of `self`, past which the stalest is forgotten (J3)."""
    card_limit: Annotated[int, Size()] = 1024**2
    card_timeout: Annotated[float, Duration()] = 10.0
    """Seconds in which a card is fetched, from the name's resolution to its last byte (A2)."""
    token_timeout: Annotated[float, Duration()] = 10.0
    """Seconds in which a token endpoint answers."""
    connect_timeout: Annotated[float, Duration()] = 10.0
    call_timeout: Annotated[float, Duration()] = 60.0
    """Seconds in which an agent answers a call that is no stream, to its last byte."""
    queue_timeout: Annotated[float, Duration()] = 30.0
    """Seconds that a stream waits for its place in the agent's budget (J4)."""

    @property
    def self_limit(self) -> int:
        """Bytes of one request to `self` at the most."""
        return min(self.body_limit, self.self_body_limit)


class TelemetrySettings(Struct, frozen=True, kw_only=True):
    """`[telemetry]`."""

    tracing: Annotated[bool, Flag()] = False  # C9


class Settings(Struct, frozen=True, kw_only=True):
    """All settings, read and checked. Made by `load` or `from_mapping`."""

    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    standin: StandinSettings = StandinSettings()
    limits: LimitSettings = LimitSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    agents: tuple[AgentSettings, ...] = ()
    agent_defaults: Mapping[str, Any] = {}
    """What `[agents_defaults]` sets, by attribute; it is in each of `agents` already."""
    card: CardSettings | None = None

    @classmethod
    def load(
        cls, path: str | Path | None = None, environ: Mapping[str, str] | None = None
    ) -> "Settings":
        """From a TOML file (none when `path` is None), then `environ` (the process's when None).

        Raises ConfigError: the key's full path, what was found, what is accepted.
        """
        tables = read_toml(Path(path)) if path is not None else {}
        return cls.from_mapping(tables, os.environ if environ is None else environ)

    @classmethod
    def from_mapping(
        cls, tables: Mapping[str, Any], environ: Mapping[str, str] | None = None
    ) -> "Settings":
        """From tables as TOML gives them; the environment counts only when it is handed in.

        Raises ConfigError like `load`.
        """
        merged = overlay(tables, environ or {})
        sections: dict[str, Any] = {}
        for name, struct in _SECTIONS.items():
            sections[name] = build(struct, read_fields(struct, merged.pop(name, {}), name), name)
        sections["agent_defaults"] = read_defaults(merged.pop("agents_defaults", {}))
        sections["agents"] = read_agents(sections["agent_defaults"], merged.pop("agents", []))
        if "card" in merged:
            values = read_fields(CardSettings, merged.pop("card"), "card")
            sections["card"] = build(CardSettings, values, "card")
        for name, value in merged.items():
            known = ", ".join([*_SECTIONS, "agents_defaults", "agents", "card"])
            what = "section" if isinstance(value, Mapping) else "key outside of any section"
            raise ConfigError(str(name), found=f"an unknown {what}", accepted=known)
        settings = cls(**sections)
        settings._check()
        return settings

    def own_agent(self, url: str) -> AgentSettings:
        """The settings of the agent `self`, reached at `url` (A9)."""
        return own_agent(self.agent_defaults, url)

    def _check(self) -> None:
        """What no key can tell alone. Raises ConfigError."""
        server = self.server
        if not server.is_loopback and server.api_token is None:
            raise ConfigError(
                "server.api_token",
                found=f"none, with server.host {server.host!r}, which is off loopback",
                accepted="a token, since others can connect; or server.host on loopback (J1)",
            )
        for index, agent in enumerate(self.agents):
            if agent.updates == "push" and not server.base_url:
                raise ConfigError(
                    f"agents[{index}].updates",
                    found='"push" without server.base_url, so that no push could arrive',
                    accepted='server.base_url, or "auto", "follow" or "off" (D1)',
                )


_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "server": ServerSettings,
    "store": StoreSettings,
    "standin": StandinSettings,
    "limits": LimitSettings,
    "telemetry": TelemetrySettings,
}
