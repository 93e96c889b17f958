"""The push tokens of one sub-task, as long as this process needs them; only digests are recorded (D2)."""

import hashlib
import secrets
from collections.abc import Iterable

from locum.core.events import Event, Parked

__all__ = ["PushTokens"]


class PushTokens:
    """Each is minted, then its digest is recorded, then the agent is given it, and then it is gone."""

    __slots__ = ("_minted", "_recorded")

    def __init__(self) -> None:
        self._recorded: dict[str | None, str] = {}
        """The token of the recorded watch, by its digest, until the agent has it."""
        self._minted: dict[str | None, str] = {}
        """Tokens whose digests are on their way to the record."""

    def mint(self) -> str:
        """The digest of a fresh 256-bit token."""
        token = secrets.token_urlsafe(32)
        digest = hashlib.sha256(token.encode()).hexdigest()
        self._minted[digest] = token
        return digest

    def settle(self, digest: str | None, events: Iterable[Event]) -> None:
        """What a token was minted for is recorded as these events, or is not: one that is not is gone."""
        for event in events:
            if isinstance(event, Parked) and event.watch.token_digest in self._minted:
                self._recorded = {event.watch.token_digest: self._minted[event.watch.token_digest]}
        self._minted.pop(digest, None)

    def of(self, digest: str) -> str | None:
        """The token of a digest, while it is still here."""
        return self._recorded.get(digest)

    def forget(self) -> None:
        """The agent has the recorded one."""
        self._recorded = {}
