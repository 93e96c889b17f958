"""Settings of the agents: `[[agents]]`, `[agents_defaults]`, their `auth`, and our own `[card]`.

Reads them; fetches no card and reads no credential.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from msgspec import Struct

from locum.core.errors import ConfigError

from ..origins import OriginPattern
from .places import HttpUrl, OriginEntry, Specifier
from .rules import (
    Duration,
    Flag,
    ListOf,
    OneOf,
    Text,
    Whole,
    refuse,
)
from .tables import Table, Tagged, build, read_fields

__all__ = [
    "SELF",
    "AgentSettings",
    "ApiKeyAuth",
    "Auth",
    "BasicAuth",
    "BearerAuth",
    "CardCapabilities",
    "CardProvider",
    "CardSettings",
    "CardSkill",
    "MtlsAuth",
    "OAuth2Auth",
    "OidcAuth",
    "own_agent",
    "read_agents",
    "read_auth",
    "read_defaults",
]

SELF = "self"
"""The id of the harness itself as an agent; no configured agent may bear it (A9)."""

_Words = Annotated[tuple[str, ...], ListOf(Text())]
_EnvName = Annotated[
    str, Text("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*", secret=True)
]
_Ident = Annotated[str, Text("a text", most=1024, secret=True)]
_File = Annotated[str, Text("the path of a file", empty=True)]


class BearerAuth(Struct, frozen=True, kw_only=True, tag="bearer"):
    """A token, sent as `Authorization: Bearer`."""

    token_env: _EnvName


class ApiKeyAuth(Struct, frozen=True, kw_only=True, tag="api_key"):
    """A key in a header, in the query or in a cookie."""

    name: Annotated[
        str, Text("the key's name", r"[!#$%&'*+.^_`|~0-9A-Za-z\[\]-]+", 200, secret=True)
    ]
    in_: Annotated[Literal["header", "query", "cookie"], OneOf(("header", "query", "cookie"))] = (
        "header"
    )
    value_env: _EnvName


class BasicAuth(Struct, frozen=True, kw_only=True, tag="basic"):
    """A user name and a password (RFC 7617)."""

    username: Annotated[str, Text("a user name without a colon", r"[^:\x00-\x1f]+", secret=True)]
    password_env: _EnvName


class OAuth2Auth(Struct, frozen=True, kw_only=True, tag="oauth2"):
    """A token from a token endpoint, by client credentials (RFC 6749 section 4.4)."""

    token_url: Annotated[str, HttpUrl(query=True)]
    client_id: _Ident
    client_secret_env: _EnvName
    scopes: _Words = ()
    audience: Annotated[str, Text("a text", empty=True)] = ""


class OidcAuth(Struct, frozen=True, kw_only=True, tag="oidc"):
    """The same, the token endpoint found at the issuer (OpenID Connect Discovery 1.0)."""

    issuer: Annotated[str, HttpUrl()]
    client_id: _Ident
    client_secret_env: _EnvName
    scopes: _Words = ()
    audience: Annotated[str, Text("a text", empty=True)] = ""
    allowed_hosts: Annotated[tuple[OriginPattern, ...], ListOf(OriginEntry())] = ()
    """Further origins its token endpoint may be on; the client's secret goes nowhere else (A6)."""


class MtlsAuth(Struct, frozen=True, kw_only=True, tag="mtls"):
    """A client certificate. `ca_file` is what the agent's own certificate is held against."""

    cert_file: Annotated[str, Text("the path of a PEM file")]
    key_file: Annotated[str, Text("the path of a PEM file")]
    ca_file: _File = ""


Auth = BearerAuth | ApiKeyAuth | BasicAuth | OAuth2Auth | OidcAuth | MtlsAuth

_AUTHS: dict[str, type[Struct]] = {
    str(struct.__struct_config__.tag): struct for struct in get_args(Auth)
}


def read_auth(table: Any, key: str) -> tuple[Auth, ...]:
    """The auths in one table like `[[agents]]`' `auth`, or in a list of them. Raises ConfigError."""
    read: tuple[Any, ...] = Tagged(_AUTHS).read(table, key)
    return read


class AgentSettings(Struct, frozen=True, kw_only=True):
    """One of `[[agents]]`, with `[agents_defaults]` beneath it (A2)."""

    id: Annotated[
        str,
        Text(
            "letters, digits, '.', '_' and '-', at most 64, a letter or digit first",
            r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
        ),
    ]
    url: Annotated[str, HttpUrl(empty=True)] = ""
    card_url: Annotated[str, HttpUrl(empty=True, query=True)] = ""
    version: Annotated[str, Specifier()] = ""
    updates: Annotated[
        Literal["auto", "push", "follow", "off"], OneOf(("auto", "push", "follow", "off"))
    ] = "auto"
    follow_interval: Annotated[float, Duration(1.0)] = 5.0
    """Seconds; at least 1 (D6)."""
    allowed_hosts: Annotated[tuple[OriginPattern, ...], ListOf(OriginEntry())] = ()
    allow_insecure: Annotated[bool, Flag()] = False
    max_streams: Annotated[int, Whole(1, 1_000_000)] = 1000
    max_calls: Annotated[int, Whole(1, 1_000_000)] = 32
    resend: Annotated[Literal["never", "same-id"], OneOf(("never", "same-id"))] = "never"
    auth: Annotated[tuple[Auth, ...], Tagged(_AUTHS)] = ()
    """One table or a list of them; all of them go with every request."""
    trusted_keys: _File = ""
    ca_file: _File = ""
    """Certificates (PEM) that the agent's TLS is held against, besides the usual ones."""
    card_refresh: Annotated[float, Duration()] = 3600.0
    """Seconds after which a card that says nothing of its own is fetched again (A2, A11)."""


class CardSkill(Struct, frozen=True, kw_only=True):
    """One of `[[card.skills]]`."""

    id: Annotated[str, Text(most=200)]
    name: Annotated[str, Text(most=200)]
    description: Annotated[str, Text(most=4000)]
    tags: _Words = ()
    examples: _Words = ()
    input_modes: _Words = ()
    output_modes: _Words = ()


class CardCapabilities(Struct, frozen=True, kw_only=True):
    """`[card.capabilities]`: what the card says of `self`; both are served."""

    streaming: Annotated[bool, Flag()] = True
    push_notifications: Annotated[bool, Flag()] = True


class CardProvider(Struct, frozen=True, kw_only=True):
    """`[card.provider]`: who offers the agent."""

    organization: Annotated[str, Text(most=200)]
    url: Annotated[str, HttpUrl(query=True)]


class CardSettings(Struct, frozen=True, kw_only=True):
    """`[card]`: the agent `self` (A9)."""

    name: Annotated[str, Text(most=200)]
    description: Annotated[str, Text(most=4000)]
    version: Annotated[str, Text(most=100)] = "1.0.0"
    executor: Annotated[
        str, Text('"package.module:attribute"', r"\w+(\.\w+)*:\w+(\.\w+)*", empty=True)
    ] = ""
    """Where the a2a-sdk AgentExecutor is; empty when it is handed to `Harness`."""
    skills: Annotated[tuple[CardSkill, ...], ListOf(Table(CardSkill), most=100)] = ()
    capabilities: Annotated[CardCapabilities, Table(CardCapabilities)] = CardCapabilities()
    provider: Annotated[CardProvider | None, Table(CardProvider)] = None
    documentation_url: Annotated[str, HttpUrl(empty=True, query=True)] = ""
    icon_url: Annotated[str, HttpUrl(empty=True, query=True)] = ""
    default_input_modes: _Words = ("text/plain",)
    default_output_modes: _Words = ("text/plain",)


def read_defaults(defaults: Any) -> dict[str, Any]:
    """The values of `[agents_defaults]` by attribute. Raises ConfigError."""
    beneath = read_fields(AgentSettings, defaults, "agents_defaults")
    if "id" in beneath:
        raise ConfigError("agents_defaults.id", found="an id", accepted="an id in [[agents]] only")
    return beneath


def own_agent(beneath: Mapping[str, Any], url: str) -> AgentSettings:
    """The settings of `self`, reached at `url`: of the defaults only those of pace and number.

    It needs no leave to call itself in plain HTTP, and no credential of others (A9).
    """
    paces = ("updates", "follow_interval", "max_streams", "max_calls", "resend", "card_refresh")
    kept = {name: beneath[name] for name in paces if name in beneath}
    return AgentSettings(id=SELF, url=url, allow_insecure=True, **kept)


def read_agents(beneath: Mapping[str, Any], agents: Any) -> tuple[AgentSettings, ...]:
    """The agents in the order given, each over the defaults `beneath`. Raises ConfigError."""
    if isinstance(agents, Mapping):
        raise ConfigError(
            "agents",
            found="one table: [agents], or [agents.NAME]",
            accepted="[[agents]], with two brackets, above the keys of each agent",
        )
    if not isinstance(agents, list):
        raise refuse(agents, "agents", "a list of tables: [[agents]]", secret=True)
    read: list[AgentSettings] = []
    for index, table in enumerate(agents):
        key = f"agents[{index}]"
        agent = build(AgentSettings, {**beneath, **read_fields(AgentSettings, table, key)}, key)
        _check(agent, key, {other.id: place for place, other in enumerate(read)})
        read.append(agent)
    return tuple(read)


def _check(agent: AgentSettings, key: str, taken: Mapping[str, int]) -> None:
    """What no key of an agent can tell alone. Raises ConfigError."""
    if agent.id == SELF:
        raise ConfigError(
            f"{key}.id",
            found=f'"{SELF}", the id of this harness itself',
            accepted="another id (A9)",
        )
    if agent.id in taken:
        raise ConfigError(
            f"{key}.id",
            found=f'"{agent.id}", as agents[{taken[agent.id]}] has',
            accepted="a new id",
        )
    if not (agent.url or agent.card_url):
        raise ConfigError(f"{key}.url", found="nothing", accepted="the agent's http(s) URL")
