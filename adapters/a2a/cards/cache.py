"""How long a fetched card may be used unasked, by HTTP's rules (A11, RFC 9111). Fetches nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

__all__ = ["Freshness", "freshness_of"]

_LONGEST = 86400.0
_LONGEST_CONDITION = 1000
_STORED = ("cache-control", "etag", "expires", "last-modified")
"""What a 304 leaves as it was by not naming it. `Age` and `Date` are each answer's own."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """What the answer's head says. `seconds` None: it says nothing of how long.

    `head` is what is stored of the head, by lower-case names.
    """

    seconds: float | None = None
    head: Mapping[str, str] = field(default_factory=dict)

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask whether the card has changed since.

        A value that is not plainly a header's is left out, which only costs the card once more: it
        may have bytes that would come back as others, or be so long that the agent refuses it.
        """
        asked = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
        values = {name: self.head.get(stored, "") for name, stored in asked.items()}
        return {name: value for name, value in values.items() if value and _is_plain(value)}


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) <= _LONGEST_CONDITION


def freshness_of(headers: Mapping[str, str], before: Freshness | None = None) -> Freshness:
    """Read the head of an answer; of a 304, over what was known `before` (RFC 9111, 3.2, 4.3.4).

    Seconds count from the answer's arrival and are at most a day: a card that promises more is
    asked about all the same.
    """
    head = dict(before.head) if before else {}
    head |= {name: headers[name] for name in _STORED if name in headers}
    directives = _directives(head.get("cache-control", ""))
    if "no-store" in directives:
        return Freshness(0.0)
    own = {name: headers[name] for name in ("age", "date") if name in headers}
    return Freshness(_seconds(head | own, directives), head)


def _seconds(headers: Mapping[str, str], directives: Mapping[str, str]) -> float | None:
    if "no-cache" in directives:
        return 0.0
    if "max-age" in directives:
        lifetime = _number(directives["max-age"])
    elif "expires" in headers:
        lifetime = _until(headers["expires"], headers.get("date", ""))
    else:
        return None
    return min(max(lifetime - _number(headers.get("age", "0")), 0.0), _LONGEST)


def _directives(value: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in value.split(","))
    return {name.strip().lower(): given.strip().strip('"') for name, _, given in pairs}


def _number(text: str) -> float:
    """Whole seconds; what is no number is none: stale (RFC 9111 section 4.2.1)."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < len("1" * 16) else 0.0


def _until(expires: str, date: str) -> float:
    try:
        return (parsedate_to_datetime(expires) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
