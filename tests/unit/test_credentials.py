"""Credentials: where they go, which schemes they meet, and that they are never seen."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest
from a2a.types.a2a_pb2 import AgentCard
from google.protobuf.json_format import ParseDict

from locum.adapters.a2a.credentials.kinds import QUERY_KEYS
from locum.adapters.a2a.credentials.placing import Credentials, credentials_for
from locum.adapters.a2a.credentials.security import scheme_words
from locum.adapters.a2a.credentials.tls import tls_context_for
from locum.adapters.settings import AgentSettings, Settings
from locum.core.errors import RemoteCallError, UnsupportedExtensionError

URL = "https://inventory.example"
BEARER = {"type": "bearer", "token_env": "T"}
BASIC = {"type": "basic", "username": "u", "password_env": "P"}
HEADER_KEY = {"type": "api_key", "name": "X-Key", "in": "header", "value_env": "K"}
QUERY_KEY = {"type": "api_key", "name": "key", "in": "query", "value_env": "K"}
COOKIE_KEY = {"type": "api_key", "name": "sid", "in": "cookie", "value_env": "K"}
OAUTH2 = {
    "type": "oauth2",
    "token_url": "https://id.example/token",
    "client_id": "c",
    "client_secret_env": "S",
}
OIDC = {"type": "oidc", "issuer": "https://id.example", "client_id": "c", "client_secret_env": "S"}
MTLS = {"type": "mtls", "cert_file": "c.pem", "key_file": "k.pem"}
ENVIRON = {"T": "t0k3n-bearer", "P": "p4ssw0rd", "K": "k3y-value", "S": "s3cr3t"}
SECRETS = ("t0k3n", "p4ssw0rd", "k3y-value", "s3cr3t")


def agent(**keys: Any) -> AgentSettings:
    """An agent's settings."""
    return Settings.from_mapping({"agents": [{"id": "a", "url": URL} | keys]}).agents[0]


def credentials(*auth: dict[str, Any], **keys: Any) -> Credentials:
    """The credentials of an agent with these auths."""
    return credentials_for(agent(auth=list(auth), **keys), ENVIRON)


async def request_to(url: str, with_: Credentials) -> httpx.Request:
    """A request as it leaves, once the credentials are on it."""
    request = httpx.Request("GET", url)
    flow = with_.async_auth_flow(request)
    try:
        return await anext(flow)
    finally:
        await flow.aclose()


# Where they go


@pytest.mark.parametrize(
    "auth, header, value",
    [
        (BEARER, "authorization", "Bearer t0k3n-bearer"),
        (BASIC, "authorization", "Basic dTpwNHNzdzByZA=="),
        (HEADER_KEY, "x-key", "k3y-value"),
        (COOKIE_KEY, "cookie", "sid=k3y-value"),
    ],
)
async def test_onto_the_request(auth: dict[str, Any], header: str, value: str) -> None:
    """A6: a credential goes onto every request to the agent's own origin."""
    request = await request_to(f"{URL}/a2a", credentials(auth))
    assert request.headers[header] == value


async def test_a_query_key_is_not_in_the_url_that_is_logged() -> None:
    """G8: a key for the query is handed down in the request, below httpx's log line of the URL."""
    request = await request_to(f"{URL}/a2a?x=1", credentials(QUERY_KEY))
    assert str(request.url) == f"{URL}/a2a?x=1"
    assert request.extensions[QUERY_KEYS]["key"].reveal() == "k3y-value"
    assert "k3y-value" not in repr(request.extensions)


async def test_two_cookies_and_a_header_together() -> None:
    """A3: all configured credentials go together."""
    other = COOKIE_KEY | {"name": "team"}
    request = await request_to(URL, credentials(COOKIE_KEY, other, BEARER))
    assert request.headers["cookie"] == "sid=k3y-value; team=k3y-value"
    assert request.headers["authorization"] == "Bearer t0k3n-bearer"


@pytest.mark.parametrize(
    "url, goes",
    [
        (f"{URL}/a2a", True),
        ("https://INVENTORY.example:443/x", True),
        ("http://inventory.example/a2a", False),
        ("https://inventory.example:8443/a2a", False),
        ("https://evil.example/a2a", False),
        ("https://inventory.example.evil.example", False),
        ("https://cards.example/card.json", True),
        ("https://files.example:9000/x", True),
        ("https://files.example/x", False),
    ],
)
async def test_to_configured_origins_only(url: str, goes: bool) -> None:
    """A6: a credential never reaches an origin that was not configured."""
    auth = credentials(
        BEARER,
        QUERY_KEY,
        card_url="https://cards.example/card.json",
        allowed_hosts=["https://files.example:9000"],
    )
    request = await request_to(url, auth)
    assert ("authorization" in request.headers) is goes
    assert (QUERY_KEYS in request.extensions) is goes


# Which schemes they meet

SCHEMES: dict[str, Any] = {
    "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
    "basic": {"httpAuthSecurityScheme": {"scheme": "basic"}},
    "digest": {"httpAuthSecurityScheme": {"scheme": "digest"}},
    "header": {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}},
    "query": {"apiKeySecurityScheme": {"location": "query", "name": "key"}},
    "cookie": {"apiKeySecurityScheme": {"location": "cookie", "name": "sid"}},
    "other_key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Other"}},
    "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": URL}}}},
    "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": URL}},
    "mtls": {"mtlsSecurityScheme": {}},
    "strange": {},
}


def card(*alternatives: Sequence[str], **scopes: list[str]) -> AgentCard:
    """A card that requires one of these sets of schemes."""
    requirements = [
        {"schemes": {name: {"list": scopes.get(name, [])} for name in names}}
        for names in alternatives
    ]
    body = {"securitySchemes": SCHEMES, "securityRequirements": requirements}
    return ParseDict(body, AgentCard())


@pytest.mark.parametrize(
    "auth, meets",
    [
        (BEARER, {"bearer", "oauth", "oidc"}),
        (BASIC, {"basic"}),
        (HEADER_KEY, {"header"}),
        (QUERY_KEY, {"query"}),
        (COOKIE_KEY, {"cookie"}),
        (OAUTH2, {"bearer", "oauth", "oidc"}),
        (OIDC, {"bearer", "oauth", "oidc"}),
        (MTLS, {"mtls"}),
    ],
)
def test_which_schemes_are_met(auth: dict[str, Any], meets: set[str]) -> None:
    """A3: each kind of credential meets the schemes that it can be sent for, and no other."""
    having = credentials(auth)
    assert {name for name in SCHEMES if not having.fits(card([name]))} == meets


def test_alternatives_and_sets() -> None:
    """A3: requirements are alternatives, the schemes inside one are needed together."""
    having = credentials(BEARER, HEADER_KEY)
    assert having.fits(card()) == ()
    assert having.fits(card([])) == ()
    assert having.fits(card(["mtls"], ["bearer"])) == ()
    assert having.fits(card(["bearer", "header"])) == ()
    assert having.fits(card(["bearer", "mtls"])) == ("mtls",)
    assert having.fits(card(["basic", "mtls"], ["bearer", "query"])) == ("query",)
    assert having.fits(card(["undeclared"])) == ("undeclared",)
    assert credentials().fits(card(["bearer"])) == ("bearer",)


def test_schemes_in_words() -> None:
    """A3: a refusal says which kind of credential is missing."""
    one = card(["bearer"])
    words = [scheme_words(one, name) for name in (*SCHEMES, "unknown")]
    assert words == [
        "bearer (http Bearer)",
        "basic (http basic)",
        "digest (http digest)",
        "header (api_key 'x-key' in header)",
        "query (api_key 'key' in query)",
        "cookie (api_key 'sid' in cookie)",
        "other_key (api_key 'X-Other' in header)",
        "oauth (oauth2)",
        "oidc (oidc)",
        "mtls (mtls)",
        "strange (unknown kind)",
        "unknown (not declared)",
    ]


# What cannot be had


@pytest.mark.parametrize("value", [None, "", "  ", "two\nlines", "nön-ascii"])
@pytest.mark.parametrize("auth", [BEARER, BASIC, HEADER_KEY, OAUTH2, OIDC])
def test_a_variable_that_is_not_there(auth: dict[str, Any], value: str | None) -> None:
    """A3: a variable that is missing or unusable refuses the agent and is named, not its value."""
    (name,) = (auth[key] for key in auth if key.endswith("_env"))
    environ = {} if value is None else {name: value}
    with pytest.raises(UnsupportedExtensionError, match=rf"variable {name},") as caught:
        credentials_for(agent(auth=auth), environ)
    assert caught.value.detail == {"variable": name}
    if value and value.strip():
        assert value not in str(caught.value)


def test_white_space_around_a_secret_is_left_out() -> None:
    """A3: the line break that a file leaves behind a secret is no part of it."""
    auth = credentials_for(agent(auth=BEARER), {"T": " t0k3n\n"})
    request = asyncio.run(request_to(URL, auth))
    assert request.headers["authorization"] == "Bearer t0k3n"


def test_a_certificate_that_is_not_there() -> None:
    """A3: a certificate or authority that cannot be read refuses the agent; the file is named."""
    with pytest.raises(UnsupportedExtensionError, match=r"none\.pem"):
        tls_context_for(agent(auth=MTLS | {"cert_file": "none.pem"}))
    with pytest.raises(UnsupportedExtensionError, match="ca_file"):
        tls_context_for(agent(ca_file="none.pem"))
    assert tls_context_for(agent()) is None


@pytest.mark.parametrize(
    "auth", [BEARER, BASIC, HEADER_KEY, QUERY_KEY, COOKIE_KEY, OAUTH2, OIDC, MTLS]
)
def test_nothing_shows_a_secret(auth: dict[str, Any]) -> None:
    """G8: no repr of the credentials or of what they are made of shows a secret."""
    having = credentials(auth)
    shown = repr(having) + repr(vars(having)) + repr([vars(part) for part in having._parts])
    assert not [secret for secret in SECRETS if secret in shown]


# Somebody else's


class Vault:
    """Custom credentials that note what they are asked for."""

    def __init__(self, *answers: Mapping[str, str] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Sequence[str]]] = []

    async def resolve(self, audience: str, scopes: Sequence[str]) -> Mapping[str, str]:
        """The next answer; the last one goes on for ever."""
        self.asked.append((audience, scopes))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_custom_credentials_are_resolved_for_an_audience_and_scopes() -> None:
    """G8: custom credentials are asked with the origin and the scopes that the card names."""
    vault = Vault({"X-Custom": "s3cr3t"})
    auth = credentials_for(agent(), {}, custom=vault)
    request = await request_to(f"{URL}/a2a", auth)
    assert request.headers["x-custom"] == "s3cr3t"
    one = card(["mtls"], ["oauth"], oauth=["read", "write"])
    assert auth.fits(one) == ()
    auth.expect(one)
    await request_to(f"{URL}/a2a", auth)
    assert vault.asked == [(URL, ()), (URL, ("read", "write"))]
    await request_to("https://evil.example", auth)
    assert len(vault.asked) == 2


@pytest.mark.parametrize(
    "answer, code",
    [
        (ValueError("the secret is s3cr3t"), "remote.credentials"),
        ({"X-Custom": "s3cr3t\r\nX: y"}, "remote.credentials"),
        ({"X Custom": "s3cr3t"}, "remote.credentials"),
        (RemoteCallError("no", code="remote.mine", kind="refused"), "remote.mine"),
    ],
)
async def test_custom_credentials_that_fail(answer: Any, code: str) -> None:
    """G8: what fails in them is one typed error, without what it said."""
    auth = credentials_for(agent(), {}, custom=Vault(answer))
    with pytest.raises(RemoteCallError) as caught:
        await request_to(URL, auth)
    assert caught.value.code == code
    assert "s3cr3t" not in str(caught.value)
    assert caught.value.__cause__ is None
