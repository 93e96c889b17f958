"""Cards: which are accepted, why the others are not, and which interface is used."""

import json
from typing import Any

import pytest
from a2a.types.a2a_pb2 import AgentCard
from google.protobuf.json_format import MessageToDict

from locum.adapters.a2a.addresses import Reach
from locum.adapters.a2a.cards.parse import parse_card
from locum.adapters.a2a.extensions import STATUS_EXTENSION, TASK_EXTENSION
from locum.adapters.a2a.interface import Interface
from locum.adapters.a2a.own.card import own_card
from locum.adapters.settings import Settings
from locum.core.errors import UnsupportedExtensionError

from .cards import URL, accept, card, interface, refusal


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
    """A4, case C1: an interface on another origin than the card's is refused, a look-alike too."""
    error = await refusal(card(supportedInterfaces=[interface(url)]))
    assert error.code == "card.foreign_host"
    assert "https://inventory.example" in error.message
    assert "allowed_hosts" in error.message


@pytest.mark.parametrize("url", ["https://INVENTORY.example:443/x", "https://inventory.example"])
async def test_the_same_origin_however_written(url: str) -> None:
    """A4, case C1, case C2: origins are compared by scheme, host and effective port; the URL stays
    verbatim.
    """
    assert (await accept(card(supportedInterfaces=[interface(url)]))).interface.url == url


async def test_an_allowed_host() -> None:
    """A4, case C1: an interface may be on an origin in allowed_hosts, compared after IDNA."""
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


# What it needs


async def test_a_required_extension_that_is_not_implemented() -> None:
    """A3, case C7: refused with UnsupportedExtensionError before anything is sent, the URI named."""
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


@pytest.mark.parametrize("field", ["securityRequirements", "security_requirements"])
async def test_a_security_requirement_in_the_old_form_is_one(field: str) -> None:
    """A3: a requirement written as in OpenAPI is not read as none, by either name of the field."""
    schemes = {"corp": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    one = card(securitySchemes=schemes, **{field: [{"corp": []}]})
    assert (await refusal(one)).code == "card.unsupported"


@pytest.mark.parametrize(
    "wanted, version, met",
    [
        (">=1,<2", "1.2.0", True),
        (">=2", "1.2.0", False),
        ("", "whatever", True),
        (">=1", "whatever", False),
        (">=1", "2.0.0-rc1", True),
        ("===1.0.0-SNAPSHOT", "1.0.0-SNAPSHOT", True),
        ("===1.0.0-SNAPSHOT", "1.0.0", False),
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
