"""What a request's body may hold, and how it is read: strictly, naming the field that is wrong.

Only shapes and sizes are judged here; the harness judges what the values mean, for HTTP as for
Python, and its refusals name the field too.
"""

import difflib
import re
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from locum.core.errors import RequestError
from locum.core.report import Part

from ..values import accepted_in, found_in, refusal

__all__ = [
    "ID_LIMIT",
    "CancelBody",
    "PartBody",
    "ReplyBody",
    "SpawnBody",
    "check_id",
    "parts_of",
    "read_json",
]

ID_LIMIT = 200
"""Characters of an id, of a name and of an actor."""
_TEXT_LIMIT = 1_000_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_Id = Annotated[str, Meta(max_length=ID_LIMIT)]
_Text = Annotated[str, Meta(max_length=_TEXT_LIMIT)]
_Parts = Annotated[tuple["PartBody", ...], Meta(max_length=1_000)]


class _Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A body refuses what it does not know, so that a misspelt field is not silently lost."""


class PartBody(_Body, frozen=True, kw_only=True):
    """One part: exactly one of `text`, `data`, `raw` (base64) and `url`."""

    text: str | UnsetType = UNSET
    data: Any = UNSET
    raw: str | UnsetType = UNSET
    url: Annotated[str, Meta(max_length=8192)] | UnsetType = UNSET
    media_type: _Id = ""
    filename: Annotated[str, Meta(max_length=1024)] = ""


class SpawnBody(_Body, frozen=True, kw_only=True):
    """A sub-task to hand out."""

    agent: _Id
    """The agent's id, as `GET /v1/agents` lists it."""
    goal: Annotated[str, Meta(min_length=1, max_length=_TEXT_LIMIT)]
    name: _Id = ""
    description: _Text = ""
    acceptance_criteria: Annotated[tuple[_Text, ...], Meta(max_length=1_000)] = ()
    parts: _Parts = ()
    timeout: Annotated[float, Meta(gt=0, le=31_622_400)] | None = None
    """Seconds until the sub-task fails as `deadline` (C11); at most 366 days."""
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=ID_LIMIT)] | None = None
    follows: _Id | None = None
    """The finished sub-task whose context is continued (C14)."""


class ReplyBody(_Body, frozen=True, kw_only=True):
    """An answer to the open question: `text`, `parts`, or both."""

    text: _Text = ""
    parts: _Parts = ()
    question: Annotated[int, Meta(ge=1)] | None = None
    """The version of the `Parked` that is answered (C12)."""


class CancelBody(_Body, frozen=True, kw_only=True):
    """Why something is cancelled."""

    reason: Annotated[str, Meta(max_length=4_000)] = ""


def read_json(body: bytes, wanted: Any) -> Any:
    """The body as `wanted`, strictly: a text is no number, an unknown field is refused.

    Raises RequestError; its detail has `errors`: path (empty for the body as a whole), what was
    found there and what is accepted.
    """
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), body, wanted) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(str(error)) from None
    except RecursionError:
        raise _unreadable("it is nested too deeply") from None


def check_id(text: str, field: str) -> str:
    """An id from a path or a header: not empty, at most 200 characters, none of them a control.

    Raises RequestError naming `field`.
    """
    has_control = _CONTROL.search(text)
    if text and len(text) <= ID_LIMIT and not has_control:
        return text
    raise refusal(
        field,
        found="a control character" if has_control else found_in(text),
        accepted=f"1 to {ID_LIMIT} characters, no control characters among them",
    )


def parts_of(bodies: tuple[PartBody, ...]) -> tuple[Part, ...]:
    """The parts in the core's own type; whether each can be sent is the harness's to say."""
    return tuple(
        Part(**{name: getattr(body, name) for name in PartBody.__struct_fields__})
        for body in bodies
    )


def _refusal(said: str, body: bytes, wanted: Any) -> RequestError:
    """What msgspec said, taken apart: which field, what was found, and what is accepted."""
    what, _, place = said.partition(" - at `$")
    path = place.rstrip("`").removeprefix(".")
    named = re.fullmatch(r"Object (contains unknown|missing required) field `(.+)`", what)
    if named is None:
        found = _found_at(path, body)
        return refusal(path, found=found, accepted=accepted_in(what) or "what /schema describes")
    field = f"{path}.{named[2]}" if path else named[2]
    if named[1] == "missing required":
        return refusal(field, found="nothing", accepted="a value; it is needed")
    struct = PartBody if path.startswith("parts[") else wanted
    known: list[str] = list(getattr(struct, "__struct_fields__", ()))
    near = difflib.get_close_matches(named[2], known, n=1)
    found = "a field that is not known" + (f" (is {near[0]} meant?)" if near else "")
    return refusal(field, found=found, accepted=", ".join(known) or "no field")


def _found_at(path: str, body: bytes) -> str:
    """What the body holds at a path such as `parts[0].text`; numbers may be out of any range."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return "a value that is out of range"
    for index, name in re.findall(r"\[(\d+)\]|([^.\[\]]+)", path):
        value = value[int(index)] if index else value[name]
    return found_in(value)


def _unreadable(why: str) -> RequestError:
    if "truncated" in why:
        # msgspec says so of both.
        why = "it ends too early, or holds half of a surrogate pair"
    accepted = "one JSON object in UTF-8"
    return refusal("", found=f"what is not JSON that can be read ({why})", accepted=accepted)
