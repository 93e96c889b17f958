"""Mending parts, texts and data, so that one unreadable part never costs the others (K2, case R8).

Works on decoded JSON and appends what it met to `odd`, a list of anomaly names. Knows nothing of
tasks, frames or the network.
"""

import math
import re
from typing import Any, Final

from .json_text import TOO_DEEP, dumped
from .shapes import EXACT_KEY, is_base64

__all__ = ["mend_metadata", "mend_part", "mend_parts", "mend_text", "plain_json", "plain_text"]

Json = dict[str, Any]

_BAD: Final = re.compile("[\x00\ud800-\udfff]")
_SAFE_WHOLE: Final = 2**53
_DOUBLE_WHOLE: Final = 2**1023
_CONTENTS: Final[tuple[str, ...]] = ("text", "raw", "url", "data")
_NOTE: Final = "[A part of this answer could not be read as it was sent: {}.]"

# How the file part of A2A 0.3, and of the drafts before 1.0, spells what 1.0 has in the part itself.
_FILE_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "raw": ("bytes", "fileWithBytes", "file_with_bytes", "raw"),
    "url": ("uri", "fileWithUri", "file_with_uri", "url"),
    "mediaType": ("mimeType", "mime_type", "mediaType", "media_type"),
    "filename": ("name", "filename", "fileName", "file_name"),
}


def mend_parts(value: Any, odd: list[str]) -> list[Json]:
    """The parts of a message or an artifact as A2A 1.0 spells them."""
    if value is None:
        odd.append("json.null_list")
        return []
    if not isinstance(value, list):
        odd.append("json.wrong_type")
        value = [value]
    mended: list[Json] = []
    for part in value:
        if part is None:
            odd.append("json.null_item")
        else:
            mended += mend_part(part, odd)
    return mended


def mend_part(value: Any, odd: list[str]) -> list[Json]:
    """The part, or several when it has several contents, or a note in its place."""
    if isinstance(value, str):
        odd.append("json.part_legacy")
        value = {"text": value}
    if isinstance(value, dict) and set(value) == {"root"}:
        # How pydantic dumps the wrapper that A2A 0.3's Python types put around a part.
        odd.append("json.part_legacy")
        value = value["root"]
    if not isinstance(value, dict):
        return [_note("it is no object", odd)]
    part = _camel(value)
    if isinstance(part.get("file"), dict):
        odd.append("json.part_legacy")
        part = _flat_file(part)
    contents = [name for name in _CONTENTS if part.get(name) is not None]
    if not contents and "data" in part:
        contents = ["data"]
    nulls = [name for name in _CONTENTS if name in part and name not in contents]
    about = _about(part, odd)
    if not contents:
        return [_empty(part, nulls, about, odd)]
    if nulls:
        odd.append("json.wrong_type")
    if len(contents) > 1:
        odd.append("json.part_split")
    return [_content(name, part[name], about, odd) for name in contents]


def mend_metadata(holder: Json, odd: list[str]) -> None:
    """Make the holder's metadata an object that protobuf takes, or leave it out."""
    metadata = holder.get("metadata")
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        del holder["metadata"]
        odd.append("json.wrong_type")
        return
    metadata.pop(EXACT_KEY, None)
    found = _Found()
    holder["metadata"] = _clean(metadata, found)
    found.name(odd)


def plain_text(text: str) -> str:
    """The text with U+FFFD for every NUL and every lone surrogate."""
    return _BAD.sub("\ufffd", text)


def plain_json(value: Any) -> Any:
    """The value with every text in it plain: one that can be stored, searched and sent on."""
    return _clean(value, _Found())


def mend_text(value: Any, odd: list[str]) -> str | None:
    """A field that is a text: numbers are written out, anything else is left out (None)."""
    if isinstance(value, str):
        if _BAD.search(value):
            odd.append("json.bad_unicode")
            return plain_text(value)
        return value
    if value is None:
        return None
    odd.append("json.wrong_type")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


# Inside


class _Found:
    """What was met in a value while it was cleaned."""

    __slots__ = ("bad_unicode", "long_whole", "number", "too_deep")

    def __init__(self) -> None:
        self.bad_unicode = self.too_deep = self.number = self.long_whole = False

    def name(self, odd: list[str]) -> None:
        if self.bad_unicode:
            odd.append("json.bad_unicode")
        if self.number:
            odd.append("json.number")


def _clean(value: Any, found: _Found) -> Any:
    """The value as protobuf can hold it. Its depth is bounded by `json_text.DEPTH_LIMIT`."""
    match value:
        case str():
            if value == TOO_DEEP:
                found.too_deep = True
                return "…"
            if _BAD.search(value):
                found.bad_unicode = True
                return plain_text(value)
        case bool() | None:
            pass
        case int():
            if abs(value) >= _DOUBLE_WHOLE:
                found.number = True
                return str(value)
            if abs(value) > _SAFE_WHOLE:
                found.long_whole = True
        case float():
            if not math.isfinite(value):
                found.number = True
                return str(value)
        case list():
            return [_clean(item, found) for item in value]
        case dict():
            return {str(_clean(name, found)): _clean(item, found) for name, item in value.items()}
    return value


def _note(why: str, odd: list[str], rest: str = "") -> Json:
    odd.append("json.part_unreadable")
    return {"text": _NOTE.format(why) + (f"\n{rest}" if rest else "")}


def _empty(part: Json, nulls: list[str], about: Json, odd: list[str]) -> Json:
    """A part without content: lawful when it says nothing at all, unreadable otherwise."""
    known = {*_CONTENTS, "kind", "type", "metadata", "mediaType", "filename"}
    strange = sorted(name for name in part if name not in known)
    if strange:
        kind = part.get("kind") or part.get("type") or strange[0]
        return _note(f"a part of the kind {plain_text(str(kind))[:40]!r} is not known", odd)
    if nulls:
        odd.append("json.wrong_type")
    return about


def _content(name: str, value: Any, about: Json, odd: list[str]) -> Json:
    match name:
        case "text":
            return _text(value, about, odd)
        case "raw":
            if isinstance(value, str) and is_base64(value):
                return {"raw": value, **about}
            return _raw(value, about, odd)
        case "url":
            if isinstance(value, str) and not _BAD.search(value):
                return {"url": value, **about}
            return _note("its URL is no text", odd)
        case _:
            return _data(value, about, odd)


def _text(value: Any, about: Json, odd: list[str]) -> Json:
    if not isinstance(value, str):
        odd.append("json.wrong_type")
        found = _Found()
        value = dumped(_clean(value, found)).decode("ascii")
    if _BAD.search(value):
        odd.append("json.bad_unicode")
        note = _note("it held characters that are none; U+FFFD stands for them", odd)
        return {"text": f"{note['text']}\n{plain_text(value)}", **about}
    return {"text": value, **about}


def _raw(value: Any, about: Json, odd: list[str]) -> Json:
    """Bytes that are not plain base64: with white space in it or behind a `data:` URL's head."""
    if isinstance(value, str):
        head, comma, body = value.partition(",")
        bare = "".join((body if comma and head.startswith("data:") else value).split())
        if is_base64(bare):
            odd.append("json.wrong_type")
            return {"raw": bare, **about}
    return _note("its bytes are no base64", odd)


def _data(value: Any, about: Json, odd: list[str]) -> Json:
    found = _Found()
    clean = _clean(value, found)
    found.name(odd)
    if found.too_deep:
        return _note("its data is nested too deep", odd)
    if found.bad_unicode:
        why = "its data held characters that are none; U+FFFD stands for them"
        return _note(why, odd, dumped(clean).decode("ascii"))
    if found.long_whole:
        # Not the agent's fault, so no anomaly: protobuf would round it.
        metadata = about.get("metadata", {})
        about = about | {"metadata": metadata | {EXACT_KEY: dumped(clean).decode("ascii")}}
    return {"data": clean, **about}


def _about(part: Json, odd: list[str]) -> Json:
    """What the part says beside its content."""
    about: Json = {}
    for name in ("mediaType", "filename"):
        text = mend_text(part.get(name), odd)
        if text is not None:
            about[name] = text
    if "metadata" in part:
        holder = {"metadata": part["metadata"]}
        mend_metadata(holder, odd)
        if holder.get("metadata") is not None:
            about["metadata"] = holder["metadata"]
    return about


def _flat_file(part: Json) -> Json:
    file = part["file"]
    flat = {name: value for name, value in part.items() if name != "file"}
    for name, spellings in _FILE_FIELDS.items():
        for spelling in spellings:
            if file.get(spelling) is not None:
                flat.setdefault(name, file[spelling])
                break
    return flat


def _camel(part: Json) -> Json:
    if "media_type" in part or "mimeType" in part:
        part = dict(part)
        for spelling in ("media_type", "mimeType"):
            if spelling in part:
                part.setdefault("mediaType", part.pop(spelling))
    return part
