"""Is a card signed by somebody we trust (A10)? Verifies with a2a-sdk; never fetches a key.

The trusted keys are a JWKS file of public keys. A signature's `jku` is not looked at: who signs
does not get to say whom to trust.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from a2a.types.a2a_pb2 import AgentCard, AgentCardSignature
from a2a.utils.signing import SignatureVerificationError, create_signature_verifier
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from locum.core.errors import CardError

__all__ = ["check_signature"]

_SIGNATURES = 8
_ALGORITHMS = {
    "RSA": ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
    "EC": ["ES256", "ES384", "ES512", "ES256K"],
    "OKP": ["EdDSA"],
}
"""By key type. Symmetric keys are left out: whoever could verify with one could also sign."""


def check_signature(card: AgentCard, trusted_keys: str) -> None:
    """Refuse the card unless one of its signatures is by a key in the file `trusted_keys`.

    Raises CardError `card.untrusted`, for whatever reason it cannot be verified.
    """
    keys = _keys(trusted_keys)
    if not card.signatures:
        raise _untrusted("it is not signed", trusted_keys)
    if len(card.signatures) > _SIGNATURES:
        raise _untrusted(f"it has more than {_SIGNATURES} signatures", trusted_keys)
    tried = 0
    for signature in card.signatures:
        for key in _candidates(signature, keys):
            tried += 1
            if _is_signed(card, signature, key):
                return
    why = "none of its signatures is right" if tried else "none of its signatures names a known key"
    raise _untrusted(why, trusted_keys)


def _untrusted(why: str, trusted_keys: str) -> CardError:
    return CardError(
        f"The card cannot be trusted: {why}. It has to be signed by a key in {trusted_keys}, or"
        " trusted_keys be taken away.",
        code="card.untrusted",
    )


def _keys(trusted_keys: str) -> list[dict[str, Any]]:
    try:
        loaded = json.loads(Path(trusted_keys).read_bytes())
        keys = [key for key in loaded["keys"] if _verifies(key)]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _untrusted("the trusted keys cannot be read as a JWKS", trusted_keys) from error
    if not keys:
        raise _untrusted(
            "there is no public key for signatures among the trusted keys", trusted_keys
        )
    return keys


def _verifies(key: dict[str, Any]) -> bool:
    """True for a public key that is not set aside for something else (RFC 7517, 4.2 and 4.3)."""
    use, operations = key.get("use"), key.get("key_ops")
    return (
        key.get("kty") in _ALGORITHMS
        and use in (None, "sig")
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
    )


def _candidates(
    signature: AgentCardSignature, keys: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The keys that the signature may be by: those of its key id, or any when it names none."""
    try:
        padded = signature.protected + "=" * (-len(signature.protected) % 4)
        header = json.loads(base64.urlsafe_b64decode(padded))
        kid = header.get("kid")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return
    for key in keys:
        if kid is None or key.get("kid") == kid:
            yield key


def _is_signed(card: AgentCard, signature: AgentCardSignature, jwk: dict[str, Any]) -> bool:
    # One signature and one key at a time: the SDK's verifier gives up at whatever a strange
    # signature makes it raise, so that a good one behind it would never be looked at.
    one = AgentCard()
    one.CopyFrom(card)
    del one.signatures[:]
    one.signatures.append(signature)
    own = jwk.get("alg")
    algorithms = [name for name in _ALGORITHMS[jwk["kty"]] if own in (None, name)]
    try:
        key = PyJWK(jwk)
        create_signature_verifier(lambda kid, jku: key.key, algorithms)(one)
    except (SignatureVerificationError, PyJWTError, ValueError, TypeError, RecursionError):
        return False
    return True
