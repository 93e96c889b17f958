"""The push tokens that an agent was given, known by their digests: what it quotes of them is masked.

A token is kept nowhere (D2), so whatever looks like one is hashed and compared. How much work that
is grows with the length of what the agent said and with nothing else.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from locum.core.errors import RemoteCallError
from locum.core.report import RemoteReport

__all__ = ["MASK", "GivenTokens"]

MASK: Final = "****"
_LENGTH: Final = 43
"""Of `secrets.token_urlsafe(32)`, which mints them."""
_WORD: Final = re.compile(rb"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43,}")
_CUT_WORD: Final = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{8,42}…$")
_PLACES: Final = 4096
"""So many places inside longer words are looked at in one answer; past them, only their ends."""


class GivenTokens:
    """Those of one agent. Tokens of sub-tasks that are over may be let go of."""

    def __init__(self) -> None:
        self._digests: set[str] = set()

    def change(self, before: Iterable[str], after: Iterable[str]) -> None:
        """Know these digests instead of those."""
        self._digests.difference_update(before)
        self._digests.update(after)

    def masked_report(self, report: RemoteReport) -> RemoteReport:
        """The report; another one, with every token masked, when there is one in it."""
        written = self._masked(report)
        return report if written is None else msgspec.json.decode(written, type=RemoteReport)

    def masked_json(self, value: Any) -> Any:
        """The JSON value; another one, with every token masked, when there is one in it."""
        written = self._masked(value)
        return value if written is None else msgspec.json.decode(written)

    def masked_error(self, error: RemoteCallError) -> RemoteCallError:
        """The error; another one when there is a token in it, or what may be the half of one."""
        if not self._digests:
            return error
        told = [error.message, error.said, error.account]
        said = [*told, error.agent_code, error.detail.get("data")]
        masked = self.masked_json(said)
        texts = [_CUT_WORD.sub("…", text) for text in masked[:3]]
        if texts == told and masked is said:
            return error
        return RemoteCallError(
            texts[0],
            code=error.code,
            kind=error.kind,
            method=error.method,
            status=error.status,
            agent_code=masked[3],
            retry_after=error.retry_after,
            data=masked[4],
            anomalies=error.anomalies,
            said=texts[1],
            account=texts[2],
        )

    def _masked(self, value: Any) -> bytes | None:
        """The value as JSON with its tokens masked; None when there are none in it."""
        if not self._digests:
            return None
        written = msgspec.json.encode(value)
        found = self._tokens_in(written)
        if not found:
            return None
        for token in found:
            written = written.replace(token, MASK.encode())
        return written

    def _tokens_in(self, written: bytes) -> set[bytes]:
        found: set[bytes] = set()
        places = _PLACES
        for match in _WORD.finditer(written):
            # What JSON escapes before a token (`\n`) ends in a letter, which is then in its word.
            last = match.end() - _LENGTH
            inside = range(match.start() + 1, last) if last - match.start() <= places else ()
            places -= len(inside)
            for start in {match.start(), last, *inside}:
                token = written[start : start + _LENGTH]
                if hashlib.sha256(token).hexdigest() in self._digests:
                    found.add(token)
        return found
