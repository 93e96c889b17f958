"""Cards: which are accepted, why the others are not, and which interface is used."""

import base64
import ipaddress
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import ProtectedHeader, create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from google.protobuf.json_format import MessageToDict
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from locum.adapters.a2a.addresses import Reach
from locum.adapters.a2a.card_cache import Freshness, freshness_of
from locum.adapters.a2a.card_fetch import card_urls
from locum.adapters.a2a.card_parse import parse_card
from locum.adapters.a2a.cards import AcceptedCard, accept_card, digest_of
from locum.adapters.a2a.credentials import credentials_for
from locum.adapters.a2a.extensions import STATUS_EXTENSION, TASK_EXTENSION
from locum.adapters.a2a.guard import AddressGuard
from locum.adapters.a2a.interface import Interface
from locum.adapters.a2a.own_card import own_card
from locum.adapters.origins import IpAddress
from locum.adapters.settings import Settings
from locum.core.errors import CardError, UnsupportedExtensionError

URL = "https://inventory.example"


def interface(url: str = f"{URL}/a2a", binding: str = "JSONRPC", version: str = "1.0") -> Any:
    """One entry of supportedInterfaces."""
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def card(**fields: Any) -> AgentCard:
    """A valid card for `URL`, `fields` set or replaced."""
    return parse_card(
        json.dumps(
            {
                "name": "Inventory",
                "description": "Counts",
                "version": "1.2.0",
                "supportedInterfaces": [interface()],
                "capabilities": {"streaming": True},
                "defaultInputModes": ["text/plain"],
                "defaultOutputModes": ["text/plain"],
                "skills": [],
            }
            | fields
        )
    )


async def nowhere(host: str, port: int) -> Sequence[IpAddress]:
    """A resolver that must not be asked."""
    raise AssertionError(f"{host} was resolved")


async def accept(
    one: AgentCard,
    *,
    reach: Reach = Reach.PUBLIC,
    addresses: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    **agent: Any,
) -> AcceptedCard:
    """Check a card that was found at `URL` as the settings `agent` say."""

    async def known(host: str, port: int) -> Sequence[IpAddress]:
        return [ipaddress.ip_address((addresses or {})[host])]

    tables = {"agents": [{"id": "inventory", "url": URL} | agent]}
    settings = Settings.from_mapping(tables).agents[0]
    return await accept_card(
        one,
        settings,
        credentials_for(settings, environ or {}),
        card_url=f"{settings.url}/.well-known/agent-card.json",
        card_reach=reach,
        resolve=nowhere if addresses is None else known,
    )


async def refusal(one: AgentCard, **how: Any) -> CardError:
    """Why the card is refused."""
    with pytest.raises(CardError) as caught:
        await accept(one, **how)
    return caught.value


# The interface


@pytest.mark.parametrize(
    "offered, chosen",
    [
        ([interface()], Interface(f"{URL}/a2a", "JSONRPC")),
        (
            [interface(binding="GRPC", url="inventory.example:50051"), interface()],
            Interface(f"{URL}/a2a", "JSONRPC"),
        ),
        (
            [interface(version="0.3", url=f"{URL}/old"), interface(binding="HTTP+JSON")],
            Interface(f"{URL}/a2a", "HTTP+JSON"),
        ),
        (
            [interface(f"{URL}/one", "HTTP+JSON", "1.1"), interface(f"{URL}/two")],
            Interface(f"{URL}/one", "HTTP+JSON", protocol_version="1.1"),
        ),
        ([interface(version="1")], Interface(f"{URL}/a2a", "JSONRPC", protocol_version="1")),
        (
            [interface(f"{URL}/unsaid", version=""), interface(f"{URL}/said")],
            Interface(f"{URL}/said", "JSONRPC"),
        ),
        ([interface(version="")], Interface(f"{URL}/a2a", "JSONRPC")),
        (
            [interface(f"{URL}/Path/?q=1") | {"tenant": "acme"}],
            Interface(f"{URL}/Path/?q=1", "JSONRPC", tenant="acme"),
        ),
    ],
)
async def test_the_first_interface_that_speaks_a2a_1(offered: Any, chosen: Interface) -> None:
    """A5: the first 1.x interface over a supported binding, its URL verbatim, with its tenant."""
    assert (await accept(card(supportedInterfaces=offered))).interface == chosen


@pytest.mark.parametrize(
    "offered, said",
    [
        ([], "offered none"),
        ([interface(binding="GRPC")], "offered GRPC 1.0"),
        ([interface(binding="SOAP"), interface(version="2.0")], "offered SOAP 1.0, JSONRPC 2.0"),
        ([interface(version="0.3"), interface(version="0.3.0")], "for A2A 0.3 only"),
        ([interface(version="new")], "offered JSONRPC new"),
    ],
)
async def test_no_interface(offered: Any, said: str) -> None:
    """A4: no A2A 1.x interface over JSONRPC or HTTP+JSON, offered and supported listed."""
    error = await refusal(card(supportedInterfaces=offered))
    assert error.code == "card.no_interface"
    assert said in error.message
    assert "supported A2A 1.x over JSONRPC or HTTP+JSON" in error.message


async def test_a_card_of_a2a_03() -> None:
    """A4: a 0.3 card is called that."""
    old = {
        "name": "Old",
        "description": "Old",
        "version": "1",
        "url": URL,
        "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC",
        "capabilities": {},
        "skills": [],
    }
    error = await refusal(parse_card(json.dumps(old)))
    assert error.code == "card.no_interface"
    assert "0.3 only" in error.message


# Where it leads


@pytest.mark.parametrize(
    "url, why",
    [
        ("/a2a", "relative"),
        ("", "relative"),
        ("inventory.example/a2a", "relative"),
        ("ws://inventory.example", "ws"),
        ("https://user:hunter2@inventory.example", "credentials"),
        ("http://0.0.0.0:8080", "0.0.0.0"),
        ("https://[::]/", "::"),
        ("https://0/", "0.0.0.0"),
        ("https://inventory.example:99999", "99999"),
        ("https://inventory.example\n.evil.example", "read"),
    ],
)
async def test_unusable_urls(url: str, why: str) -> None:
    """A4: relative, another scheme, credentials, 0.0.0.0: card.bad_url, the secret not repeated."""
    error = await refusal(card(supportedInterfaces=[interface(url)]))
    assert error.code == "card.bad_url"
    assert why in error.message
    assert "hunter2" not in error.message


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example/a2a",
        "https://inventory.example:8443/a2a",
        "http://inventory.example/a2a",
        "https://inventory.example.evil.example",
        "https://inventory-example",
        "https://іnventory.example",
    ],
)
async def test_another_origin(url: str) -> None:
    """A4, C1: an interface on another origin than the card's is refused, a look-alike too."""
    error = await refusal(card(supportedInterfaces=[interface(url)]))
    assert error.code == "card.foreign_host"
    assert "https://inventory.example" in error.message
    assert "allowed_hosts" in error.message


@pytest.mark.parametrize("url", ["https://INVENTORY.example:443/x", "https://inventory.example"])
async def test_the_same_origin_however_written(url: str) -> None:
    """A4, C1, C2: origins are compared by scheme, host and effective port; the URL stays verbatim."""
    assert (await accept(card(supportedInterfaces=[interface(url)]))).interface.url == url


async def test_an_allowed_host() -> None:
    """A4, C1: an interface may be on an origin in allowed_hosts, compared after IDNA."""
    one = card(supportedInterfaces=[interface("https://xn--bcher-kva.example/a2a")])
    where = {"xn--bcher-kva.example": "93.184.216.34"}
    accepted = await accept(one, allowed_hosts=["https://BÜCHER.example"], addresses=where)
    assert accepted.interface.url == "https://xn--bcher-kva.example/a2a"


async def test_plain_http_off_loopback() -> None:
    """A4: plain HTTP off loopback needs allow_insecure."""
    one = card(supportedInterfaces=[interface("http://inventory.example/a2a")])
    error = await refusal(one, allowed_hosts=["http://inventory.example"])
    assert error.code == "card.insecure_url"
    assert "allow_insecure" in error.message
    await accept(one, allowed_hosts=["http://inventory.example"], allow_insecure=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "https://10.0.0.5",
        "https://[fd00::1]",
        "http://127.0.0.1:80",
        "https://2130706433/",
        "https://[::ffff:10.0.0.1]",
    ],
)
async def test_a_private_address_from_a_public_card(url: str) -> None:
    """A4: a public card's interface at an address that is not public, however written."""
    error = await refusal(card(supportedInterfaces=[interface(url)]))
    assert error.code == "card.private_address"


async def test_a_name_for_a_private_address_from_a_public_card() -> None:
    """A4: an allowed host whose name resolves to a private address is found out."""
    one = card(supportedInterfaces=[interface("https://files.example")])
    where = {"files.example": "10.0.0.5"}
    error = await refusal(one, allowed_hosts=["https://files.example"], addresses=where)
    assert error.code == "card.private_address"
    assert "private" in error.message
    await accept(
        one, allowed_hosts=["https://files.example"], addresses={"files.example": "93.184.216.34"}
    )


async def test_a_private_card_may_use_private_addresses() -> None:
    """A4: an agent configured by a private address may of course be there."""
    home = "http://127.0.0.1:7000"
    one = card(supportedInterfaces=[interface(f"{home}/a2a")])
    await accept(one, url=home, reach=Reach.LOOPBACK)
    error = await refusal(
        card(supportedInterfaces=[interface("http://127.0.0.1:7001")]),
        url=home,
        reach=Reach.LOOPBACK,
    )
    assert error.code == "card.foreign_host"


def test_a_public_agent_stays_public() -> None:
    """A4: a name that comes to mean a private address after the card's check is not dialled."""
    guard = AddressGuard()
    guard("files.example", "10.0.0.1")
    guard("inventory.example", "93.184.216.34")
    assert guard.came_from(URL) is Reach.PUBLIC
    guard("inventory.example", "93.184.216.35")
    for address in ("127.0.0.1", "169.254.169.254", "fe80::1%eth0"):
        with pytest.raises(ValueError, match="came from a public one"):
            guard("inventory.example", address)


def test_a_private_agent_is_left_alone() -> None:
    """A4: a card from a private address forbids nothing; one private address makes it private."""
    guard = AddressGuard()
    guard("inventory.example", "93.184.216.34")
    guard("inventory.example", "10.0.0.1")
    assert guard.came_from(URL) is Reach.PRIVATE
    assert guard.came_from("http://2130706433:80") is Reach.LOOPBACK
    guard("inventory.example", "10.0.0.2")


# What it needs


async def test_a_required_extension_that_is_not_implemented() -> None:
    """A3, C7: refused with UnsupportedExtensionError before anything is sent, the URI named."""
    extensions = [{"uri": "https://ext.example/pay", "required": True}, {"uri": "https://x"}]
    error = await refusal(card(capabilities={"extensions": extensions}))
    assert isinstance(error, UnsupportedExtensionError)
    assert error.code == "card.unsupported"
    assert "https://ext.example/pay" in error.message
    assert "https://x" not in error.message.replace("https://ext", "")


async def test_extensions_in_use() -> None:
    """A7: only extensions that the card advertises and locum implements are used, required or not."""
    extensions = [
        {"uri": STATUS_EXTENSION, "required": True},
        {"uri": "https://ext.example/other"},
        {"uri": TASK_EXTENSION},
        {"uri": TASK_EXTENSION},
    ]
    accepted = await accept(card(capabilities={"extensions": extensions}))
    assert accepted.extensions == (STATUS_EXTENSION, TASK_EXTENSION)
    assert (await accept(card())).extensions == ()


async def test_a_security_scheme_without_a_credential() -> None:
    """A3: a card that needs a scheme for which no credential is configured, named with its kind."""
    one = card(
        securitySchemes={"corp": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        securityRequirements=[{"schemes": {"corp": {"list": []}}}],
    )
    error = await refusal(one)
    assert isinstance(error, UnsupportedExtensionError)
    assert "corp (http Bearer)" in error.message
    auth = {"type": "bearer", "token_env": "T"}
    await accept(one, auth=auth, environ={"T": "t"})


async def test_a_security_requirement_in_the_old_form_is_one() -> None:
    """A3: a requirement written as in OpenAPI is not read as none."""
    one = card(
        securitySchemes={"corp": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        securityRequirements=[{"corp": []}],
    )
    assert (await refusal(one)).code == "card.unsupported"


@pytest.mark.parametrize(
    "wanted, version, met",
    [
        (">=1,<2", "1.2.0", True),
        (">=2", "1.2.0", False),
        ("", "whatever", True),
        (">=1", "whatever", False),
        (">=1", "2.0.0-rc1", True),
    ],
)
async def test_the_version_specifier(wanted: str, version: str, met: bool) -> None:
    """A2, A4: the card's version is held against the PEP 440 specifier: card.version_mismatch."""
    one = card(version=version)
    if met:
        await accept(one, version=wanted)
    else:
        error = await refusal(one, version=wanted)
        assert error.code == "card.version_mismatch"
        assert version in error.message
        assert wanted in error.message


# Reading it


@pytest.mark.parametrize(
    "body, said",
    [
        ("{}", "name, description, version, supportedInterfaces"),
        ('{"name": "x", "description": "y", "supportedInterfaces": []}', "it lacks version"),
        ('{"name": "x", "description": "y", "version": "1"}', "it lacks supportedInterfaces"),
        ("[]", "no JSON object"),
        ("", "no JSON"),
        ("<html>", "no JSON"),
        ('{"name": {"a": 1}}', "name"),
        ('{"skills": ["x"]}', "structure"),
        ('{"capabilities": {"streaming": "perhaps"}}', "streaming"),
        ('{"securitySchemes": {"a": 1}}', "structure"),
        ('{"a":' * 100_000, "no JSON"),
        ('{"skills": [{"security": 5}]}', "structure"),
        ('{"name": "\\ud800"}', "read"),
    ],
)
def test_no_valid_card(body: str, said: str) -> None:
    """A4: not JSON, or fields missing or unreadable, named: card.invalid; never a crash."""
    with pytest.raises(CardError, match=said) as caught:
        parse_card(body)
    assert caught.value.code == "card.invalid"


def test_lists_may_be_missing() -> None:
    """C5: a card without skills, modes and capabilities has none of them."""
    body = {"name": "x", "description": "y", "version": "1", "supportedInterfaces": [interface()]}
    one = parse_card(json.dumps(body))
    assert (len(one.skills), one.capabilities.streaming) == (0, False)


def test_where_the_card_is_looked_for() -> None:
    """A2, C2, C3: below the URL with or without its slash, then at the origin; or at card_url."""

    def places(**agent: str) -> tuple[str, ...]:
        return card_urls(Settings.from_mapping({"agents": [{"id": "a"} | agent]}).agents[0])

    well_known = ".well-known/agent-card.json"
    assert places(url="https://a.example") == (f"https://a.example/{well_known}",)
    assert places(url="https://a.example/") == (f"https://a.example/{well_known}",)
    assert places(url="https://a.example:8443/team/x/") == (
        f"https://a.example:8443/team/x/{well_known}",
        f"https://a.example:8443/{well_known}",
    )
    assert places(url="https://a.example/x", card_url="https://b.example/c.json?v=1") == (
        "https://b.example/c.json?v=1",
    )


def test_the_digest_is_of_the_card_and_not_of_its_spelling() -> None:
    """A11: the digest is the same for the same card, and another for another."""
    one = card(skills=[{"id": "a", "name": "b", "description": "c", "tags": ["d"]}])
    again = AgentCard()
    again.CopyFrom(one)
    assert digest_of(one) == digest_of(again)
    assert len(digest_of(one)) == 64
    assert digest_of(card(name="Other")) != digest_of(card())


# Trust


def es256(kid: str = "k1") -> tuple[PyJWK, dict[str, Any]]:
    """A key to sign with, and the public one as a JWK."""
    private = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(ECAlgorithm.to_jwk(private.public_key())) | {"kid": kid}
    return PyJWK(json.loads(ECAlgorithm.to_jwk(private)), "ES256"), public


def signed(one: AgentCard, key: PyJWK, kid: str = "k1", alg: str = "ES256") -> AgentCard:
    """The card with one more signature."""
    header = ProtectedHeader(kid=kid, alg=alg, jku=None, typ="JOSE")
    return create_agent_card_signer(key, header)(one)


def jwks(folder: Path, *keys: dict[str, Any]) -> str:
    """The path of a JWKS file with these keys."""
    file = folder / "keys.json"
    file.write_text(json.dumps({"keys": keys}))
    return str(file)


async def test_a_signed_card(tmp_path: Path) -> None:
    """A10: a card signed by a trusted key is accepted, whichever of its signatures that is."""
    key, public = es256()
    other, _ = es256("k2")
    await accept(signed(card(), key), trusted_keys=jwks(tmp_path, public))
    both = signed(signed(card(), other, "k2"), key)
    await accept(both, trusted_keys=jwks(tmp_path, public))


async def test_rsa_signatures_of_either_kind(tmp_path: Path) -> None:
    """A10: an RSA key in the JWKS that names no algorithm takes PKCS#1 and PSS signatures."""
    private = rsa.generate_private_key(65537, 2048)
    public = json.loads(RSAAlgorithm.to_jwk(private.public_key())) | {"kid": "r"}
    for alg in ("RS256", "PS384"):
        key = PyJWK(json.loads(RSAAlgorithm.to_jwk(private)), alg)
        one = signed(card(), key, "r", alg)
        await accept(one, trusted_keys=jwks(tmp_path, public))


async def test_a_card_that_cannot_be_trusted(tmp_path: Path) -> None:
    """A10, C8: unsigned, changed after signing, another key, an unknown key id: card.untrusted."""
    key, public = es256()
    other, _ = es256()
    changed = signed(card(), key)
    changed.name = "Changed"
    for one, why in (
        (card(), "not signed"),
        (changed, "none of its signatures is right"),
        (signed(card(), other), "none of its signatures is right"),
        (signed(card(), other, "unknown"), "known key"),
    ):
        error = await refusal(one, trusted_keys=jwks(tmp_path, public))
        assert error.code == "card.untrusted"
        assert why in error.message


def segment(value: Any) -> str:
    """A value as base64url without padding."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "protected",
    [
        "",
        "%%%",
        "ünïcödé",
        segment([]),
        segment({"kid": ["k1"], "alg": "ES256"}),
        segment({"kid": "k1", "alg": "none"}),
        segment({"kid": "k1", "alg": "HS256"}),
        segment({"kid": "k1"}),
        segment({"kid": "k1", "alg": "ES256", "crit": ["b64"], "b64": False}),
        base64.urlsafe_b64encode(b"[" * 50_000).decode(),
    ],
)
async def test_rubbish_signatures(protected: str, tmp_path: Path) -> None:
    """C8, A10: rubbish signatures are refused when there are trusted keys, and ignored otherwise."""
    one = card(signatures=[{"protected": protected, "signature": "rubbish"}])
    _, public = es256()
    error = await refusal(one, trusted_keys=jwks(tmp_path, public))
    assert error.code == "card.untrusted"
    await accept(one)


async def test_a_good_signature_behind_rubbish(tmp_path: Path) -> None:
    """C8, A10: a strange signature does not keep a good one from being looked at."""
    key, public = es256()
    one = card(signatures=[{"protected": "ünïcödé", "signature": "x"}])
    await accept(signed(one, key), trusted_keys=jwks(tmp_path, public))


@pytest.mark.parametrize(
    "content", ["", "{}", '{"keys": 5}', '{"keys": [{"kty": "oct", "k": "eA"}]}']
)
async def test_trusted_keys_that_cannot_be_used(content: str, tmp_path: Path) -> None:
    """C8, A10: without usable keys nobody is trusted; a symmetric key is none."""
    key, _ = es256()
    file = tmp_path / "keys.json"
    file.write_text(content)
    assert (await refusal(signed(card(), key), trusted_keys=str(file))).code == "card.untrusted"
    gone = str(tmp_path / "none.json")
    assert (await refusal(signed(card(), key), trusted_keys=gone)).code == "card.untrusted"


# How long it may be used


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({}, None),
        ({"cache-control": "max-age=60"}, 60.0),
        ({"cache-control": 'public, Max-Age="60"'}, 60.0),
        ({"cache-control": "max-age=60", "age": "20"}, 40.0),
        ({"cache-control": "max-age=60", "age": "90"}, 0.0),
        ({"cache-control": "max-age=soon"}, 0.0),
        ({"cache-control": "max-age=99999999"}, 86400.0),
        ({"cache-control": "no-cache, max-age=60"}, 0.0),
        ({"cache-control": "no-store"}, 0.0),
        ({"cache-control": "public"}, None),
        (
            {
                "date": "Fri, 30 Jan 2026 10:00:00 GMT",
                "expires": "Fri, 30 Jan 2026 10:01:00 GMT",
            },
            60.0,
        ),
        ({"expires": "0", "date": "Fri, 30 Jan 2026 10:00:00 GMT"}, 0.0),
    ],
)
def test_freshness(headers: dict[str, str], seconds: float | None) -> None:
    """A11: a card is cached by HTTP's rules: max-age, Age, no-cache, no-store, Expires."""
    assert freshness_of(headers).seconds == seconds


def test_conditions_of_the_next_request() -> None:
    """A11: the next request asks with what the last answer gave; a 304 keeps what it leaves out."""
    first = freshness_of({"etag": 'W/"1"', "last-modified": "yesterday"})
    assert first.conditions == {"If-None-Match": 'W/"1"', "If-Modified-Since": "yesterday"}
    second = freshness_of({"cache-control": "max-age=5"}, first)
    assert second == Freshness(5.0, 'W/"1"', "yesterday")
    assert freshness_of({"cache-control": "no-store", "etag": "x"}).conditions == {}


# Our own


async def test_our_own_card_is_a_good_one() -> None:
    """A9: the card made from [card] is accepted like any other, with both bindings."""
    settings = Settings.from_mapping(
        {
            "card": {
                "name": "Planner",
                "description": "Plans",
                "skills": [{"id": "p", "name": "Plan", "description": "Makes plans"}],
                "provider": {"organization": "Acme", "url": "https://acme.example"},
                "capabilities": {"push_notifications": False},
            }
        }
    )
    assert settings.card is not None
    own = own_card(settings.card, "http://127.0.0.1:8420/")
    accepted = await accept(own, url="http://127.0.0.1:8420", reach=Reach.LOOPBACK)
    assert accepted.interface == Interface("http://127.0.0.1:8420/a2a", "JSONRPC")
    assert accepted.extensions == (TASK_EXTENSION, STATUS_EXTENSION)
    assert own.supported_interfaces[1].url == "http://127.0.0.1:8420/a2a/rest"
    assert (own.capabilities.streaming, own.capabilities.push_notifications) == (True, False)
    assert own.provider.organization == "Acme"
    assert parse_card(json.dumps({"skills": []} | _as_json(own))).name == "Planner"


def _as_json(own: AgentCard) -> dict[str, Any]:
    return dict(MessageToDict(own))
