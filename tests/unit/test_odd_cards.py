"""Cards with a host in another spelling, and requirements and keys that are not what they seem."""

import json
from pathlib import Path
from typing import Any

import pytest

from locum.adapters.a2a.addresses import Reach
from locum.adapters.a2a.cards.parse import parse_card
from locum.core.errors import CardError

from .cards import accept, card, interface, refusal
from .test_card_trust import es256, jwks, signed


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "127.0.0.1."])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_an_address_in_another_spelling(host: str, binding: str) -> None:
    """A4: the pool does not dial it, so the card is refused at once: card.bad_url."""
    home = "http://127.0.0.1:7000"
    one = card(supportedInterfaces=[interface(f"http://{host}:7000/a2a", binding)])
    error = await refusal(one, url=home, reach=Reach.LOOPBACK)
    assert error.code == "card.bad_url"
    assert "another spelling of 127.0.0.1" in error.message


async def test_an_address_with_octal_numbers() -> None:
    """A4: httpx reads no leading zeros: card.bad_url all the same."""
    one = card(supportedInterfaces=[interface("http://0177.0.0.1:7000/a2a")])
    error = await refusal(one, url="http://127.0.0.1:7000", reach=Reach.LOOPBACK)
    assert error.code == "card.bad_url"


@pytest.mark.parametrize(
    "home", ["http://127.0.0.1:7000", "http://[::1]:7000", "http://[::ffff:127.0.0.1]:7000"]
)
async def test_an_address_as_it_is_dialled(home: str) -> None:
    """A4: addresses that can be dialled are taken."""
    one = card(supportedInterfaces=[interface(f"{home}/a2a")])
    await accept(one, url=home, reach=Reach.LOOPBACK)


@pytest.mark.parametrize("field", ["securityRequirements", "security_requirements", "security"])
@pytest.mark.parametrize("requirement", ["k", "", 5, ["k"], True])
def test_a_requirement_that_is_no_object(field: str, requirement: Any) -> None:
    """A3, A4: it is not read as "needs nothing": card.invalid, the field named."""
    text = json.dumps(
        {
            "name": "Inventory",
            "description": "Counts",
            "version": "1",
            "supportedInterfaces": [interface()],
            "securitySchemes": {"k": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
            field: [requirement],
        }
    )
    with pytest.raises(CardError, match=field) as caught:
        parse_card(text)
    assert caught.value.code == "card.invalid"


@pytest.mark.parametrize(
    "meant, trusted",
    [
        ({}, True),
        ({"use": "sig"}, True),
        ({"key_ops": ["verify"]}, True),
        ({"use": "sig", "key_ops": ["sign", "verify"]}, True),
        ({"use": "enc"}, False),
        ({"key_ops": ["encrypt", "wrapKey"]}, False),
        ({"key_ops": []}, False),
        ({"use": "sig", "key_ops": ["encrypt"]}, False),
        ({"use": "enc", "key_ops": ["verify"]}, False),
        ({"key_ops": 5}, False),
        ({"use": None, "key_ops": None}, True),
    ],
)
async def test_what_a_trusted_key_is_for(
    meant: dict[str, Any], trusted: bool, tmp_path: Path
) -> None:
    """A10: a key that is set aside for something else than signatures verifies none (RFC 7517)."""
    key, public = es256()
    one = signed(card(), key)
    if trusted:
        await accept(one, trusted_keys=jwks(tmp_path, public | meant))
    else:
        _, other = es256("other")
        error = await refusal(one, trusted_keys=jwks(tmp_path, public | meant, other))
        assert error.code == "card.untrusted"
        assert "names a known key" in error.message
