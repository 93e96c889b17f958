"""Whether a card's signature is by a key that is trusted."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import ProtectedHeader, create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from .cards import accept, card, refusal


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
    """A10, case C8: unsigned, changed after signing, another key, an unknown key id:
    card.untrusted.
    """
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
    """A10, case C8: rubbish signatures are refused when there are trusted keys, and ignored
    otherwise.
    """
    one = card(signatures=[{"protected": protected, "signature": "rubbish"}])
    _, public = es256()
    error = await refusal(one, trusted_keys=jwks(tmp_path, public))
    assert error.code == "card.untrusted"
    await accept(one)


async def test_a_good_signature_behind_rubbish(tmp_path: Path) -> None:
    """A10, case C8: a strange signature does not keep a good one from being looked at."""
    key, public = es256()
    one = card(signatures=[{"protected": "ünïcödé", "signature": "x"}])
    await accept(signed(one, key), trusted_keys=jwks(tmp_path, public))


@pytest.mark.parametrize(
    "content", ["", "{}", '{"keys": 5}', '{"keys": [{"kty": "oct", "k": "eA"}]}']
)
async def test_trusted_keys_that_cannot_be_used(content: str, tmp_path: Path) -> None:
    """A10, case C8: without usable keys nobody is trusted; a symmetric key is none."""
    key, _ = es256()
    file = tmp_path / "keys.json"
    file.write_text(content)
    assert (await refusal(signed(card(), key), trusted_keys=str(file))).code == "card.untrusted"
    gone = str(tmp_path / "none.json")
    assert (await refusal(signed(card(), key), trusted_keys=gone)).code == "card.untrusted"
