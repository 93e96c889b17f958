"""Reading the head and the small print of an answer: words of HTML, Retry-After, redirect targets.

Everything here takes text of an agent's and gives bounded, harmless text back. Touches no network.
"""

import html
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

__all__ = ["one_line", "redacted", "retry_after", "target_of", "words_of"]

_DAY: Final = 86400.0
# None of these can be made to look at a character more than a few times.
_UNSEEN: Final = re.compile(
    r"<(script|style|head)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_TITLE: Final = re.compile(r"<title\b[^<>]*>([^<]*)</title", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]*>")
# White space, control characters, and those that turn the direction of text around.
_BLANK: Final = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+"
)


def one_line(text: str, limit: int) -> str:
    """The text on one line, at most `limit` characters long; a cut one ends in `…`."""
    line = _BLANK.sub(" ", text[: limit * 4]).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def words_of(body: bytes, limit: int = 300) -> str:
    """What a person would read of a body that is no JSON: its text without markup, one line."""
    text = body[: 64 << 10].decode("utf-8", "replace")
    if "<" in text:
        title = _TITLE.search(text)
        seen = _TAG.sub(" ", _UNSEEN.sub(" ", text))
        text = html.unescape(f"{title[1]}: {seen}" if title else seen)
    return one_line(text, limit)


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds to wait, from `Retry-After` (RFC 9110, 10.2.3): a number or a date; at most a day.

    None when it is absent or cannot be read.
    """
    value = value.strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except (ValueError, TypeError):
            return None
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
        seconds = (when - now).total_seconds()
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), _DAY)


def target_of(location: str, base: httpx.URL) -> str:
    """Where a redirect leads, without credentials, query and fragment; bounded."""
    try:
        target = base.join(location)
        named = target.copy_with(username=None, password=None, query=None, fragment=None)
    except (httpx.InvalidURL, ValueError, TypeError):
        return "what is no URL"
    return one_line(str(named), 300)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret in it masked (G8); an agent may quote what it was sent."""
    for secret in secrets:
        text = text.replace(secret, "****")
    return text
