"""How much JSON is in some bytes, told without reading it: how many values, how deep (J3).

Reading costs a hundred times what counting signs does, so what comes from outside is measured
before anything reads it.
"""

import re
from itertools import accumulate
from typing import Final

__all__ = ["DEPTH_LIMIT", "STEP", "depth_of", "is_crowded"]

DEPTH_LIMIT: Final = 50
"""How deep JSON may be nested, its frame included.

google.protobuf reads 100 levels of messages, and a level of data takes two of them. With 50 the
deepest place that A2A has for data (a status message's part) still fits.
"""

STEP: Final = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1, ord('"'): 0}
"""By how much a sign changes the depth."""

_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(STEP))
_STRING: Final = re.compile(rb'"[^"]*"?')


def depth_of(raw: bytes) -> int:
    """How deep the JSON is nested at most. Linear, and fast enough to ask it of every event."""
    opened = raw.count(b"{") + raw.count(b"[")
    if opened <= DEPTH_LIMIT:
        # An upper bound will do: nobody asks for more than whether it is over the limit.
        return DEPTH_LIMIT
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE)
    # What closes more than was opened is no JSON, and is not worth counting to its end.
    bare = _STRING.sub(b"", bare)[: 2 * opened]
    return max(accumulate(map(STEP.__getitem__, bare)), default=0)


def is_crowded(raw: bytes, limit: int) -> bool:
    """True when the JSON holds more than `limit` values, as near as signs can tell.

    It takes milliseconds whatever the bytes are, since reading so many values takes minutes.
    """
    if _signs(raw) <= limit:
        return False  # an upper bound: signs inside of texts were counted too
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * limit:
        return True  # every other text may be a name, each two quotes
    return _signs(b"".join(bare.split(b'"')[::2])) > limit


def _signs(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"{") + raw.count(b"[")
