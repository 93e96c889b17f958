"""Which path a request is about: judged once, so that the door and the router see the same one.

A `%2F` inside an id does not end the segment: it travels as U+0000, which no id may contain, and
`segment` puts the slash back. Mount prefixes are taken off here.
"""

import re
from urllib.parse import unquote

from litestar.types import Scope

from ..values import refusal

__all__ = ["routed_path", "segment"]

_SLASH = "\x00"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def routed_path(scope: Scope) -> str:
    """The path below the mount point: one slash between segments, none at the end.

    Raises RequestError for a control character in it.
    """
    path, prefix = scope["path"], scope.get("root_path", "")
    if _CONTROL.search(path):
        accepted = "ids without control characters"
        raise refusal("the path", found="a control character", accepted=accepted)
    raw = scope.get("raw_path") or b""
    if b"%2f" in raw.lower():
        parts = raw.decode("latin-1").split("/")
        marked = "/".join(unquote(part).replace("/", _SLASH) for part in parts)
        # A framework that we are mounted in may have taken its prefix off `path` already.
        tail = marked[-len(path) :]
        if tail.replace(_SLASH, "/") == path:
            path = tail
    if prefix and (path == prefix or path.startswith(prefix + "/")):
        path = path[len(prefix) :]
    return "/" + "/".join(part for part in path.split("/") if part)


def segment(text: str) -> str:
    """A path parameter as it was meant, its slashes put back."""
    return text.replace(_SLASH, "/")
