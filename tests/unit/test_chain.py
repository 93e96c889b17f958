"""The hash chain: what is altered, removed, moved or doubled shows; what is newer is refused."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from locum.core import chain
from locum.core.chain import GENESIS, decode, digest, encode, seal, verify_links
from locum.core.errors import HistoryError
from locum.core.events import SCHEMA
from locum.core.replay import illegal_steps
from tests.lives import Life, chunk, data, push, remote, status, task


def history() -> list[bytes]:
    """The stored bytes of a life of seven events, with rich content."""
    life = Life(parts=(data({"hash": 'say "hash":"" }', "é": [1, 0.5, None]}),))
    life.hear(task("WORKING", remote_at=remote(1)), "send")
    life.hear(chunk("a", "Hello"))
    life.get(task("INPUT_REQUIRED", 'Which "hash":"?', remote_at=remote(2)), watch=push())
    life.reply()
    life.hear(status("WORKING", "counting", remote_at=remote(3)))
    life.get(task("COMPLETED", remote_at=remote(4)))
    life.revoke()
    return life.stored


HISTORY = history()


def faults(stored: list[bytes], **options: Any) -> list[tuple[int, str]]:
    """Version and kind of each fault."""
    return [(version, what.split(":")[0]) for version, what in verify_links(stored, **options)]


def forged(stored: bytes, **fields: Any) -> bytes:
    """The event with other fields, and a hash that is right for them."""
    event = decode(json.dumps(json.loads(stored) | fields | {"hash": ""}).encode())
    return encode(seal(event))


def test_an_untouched_history_holds() -> None:
    """H3: nothing is wrong with it, and the machine allows each step."""
    assert verify_links(HISTORY, sub_task_id="s1", latest=7) == []
    assert illegal_steps([decode(stored) for stored in HISTORY]) == []
    assert verify_links([]) == []


def test_the_hash_is_over_the_rest() -> None:
    """H3: an event ends in its own hash, over the same bytes with the hash left empty."""
    for stored in HISTORY:
        event = decode(stored)
        assert encode(event) == stored
        assert stored.endswith(f'"hash":"{event.hash}"}}'.encode())
        assert digest(stored) == event.hash
    assert decode(HISTORY[0]).previous_hash == GENESIS


@given(st.data())
def test_any_changed_byte_shows(draw: st.DataObject) -> None:
    """H3: whichever byte of whichever event is changed, the last one's too."""
    index = draw.draw(st.integers(0, len(HISTORY) - 1))
    stored = HISTORY[index]
    place = draw.draw(st.integers(0, len(stored) - 1))
    byte = draw.draw(st.integers(0, 255).filter(lambda value: value != stored[place]))
    changed = stored[:place] + bytes([byte]) + stored[place + 1 :]
    tampered = [*HISTORY[:index], changed, *HISTORY[index + 1 :]]
    assert verify_links(tampered, sub_task_id="s1", latest=7)


@pytest.mark.parametrize("index", range(len(HISTORY)))
def test_an_altered_event_is_named(index: int) -> None:
    """H3: altered without its hash: that event. With its own hash anew: the link after it."""
    fields = {"actor": "mallory"}
    plain = json.dumps(json.loads(HISTORY[index]) | fields, separators=(",", ":")).encode()
    tampered = [*HISTORY]
    tampered[index] = plain
    assert faults(tampered) == [(index + 1, "altered")]
    tampered[index] = forged(HISTORY[index], **fields)
    expected = [(index + 2, "unlinked")] if index + 1 < len(HISTORY) else []
    assert faults(tampered) == expected


@pytest.mark.parametrize("index", range(len(HISTORY)))
def test_a_removed_event_is_named(index: int) -> None:
    """H3: removed at the beginning, in the middle, and at the end when the latest is known."""
    tampered = HISTORY[:index] + HISTORY[index + 1 :]
    assert faults(tampered, latest=7) == [(index + 1, "removed")]
    if index == len(HISTORY) - 1:
        assert faults(tampered) == []


def test_several_removed_events() -> None:
    """H3: a row of missing events is one fault that says from where to where."""
    tampered = [HISTORY[0], HISTORY[4], HISTORY[6]]
    assert verify_links(tampered, latest=9) == [
        (2, "removed: version 2 to 4 is missing"),
        (6, "removed: version 6 is missing"),
        (8, "removed: version 8 to 9 is missing"),
    ]
    assert faults([], latest=2) == [(1, "removed")]


@pytest.mark.parametrize("first, second", list(itertools.combinations(range(7), 2)))
def test_swapped_events_are_named(first: int, second: int) -> None:
    """H3: two events that changed places: those that stand too late are reordered."""
    tampered = [*HISTORY]
    tampered[first], tampered[second] = tampered[second], tampered[first]
    found = faults(tampered, latest=7)
    assert {kind for _, kind in found} == {"reordered"}
    assert first + 1 in {version for version, _ in found}


@pytest.mark.parametrize("index", range(len(HISTORY)))
def test_a_duplicated_event_is_named(index: int) -> None:
    """H3: stored twice, side by side or at the end."""
    twice = [*HISTORY[: index + 1], *HISTORY[index:]]
    assert faults(twice) == [(index + 1, "duplicated")]
    assert faults([*HISTORY, HISTORY[index]]) == [(index + 1, "duplicated")]


def test_another_sub_tasks_event() -> None:
    """H3: an event, or a whole history, of another sub-task is foreign."""
    other = [encode(event) for event in Life(sub_task_id="s2").events]
    assert faults(other, sub_task_id="s1") == [(1, "foreign")]
    assert faults(other) == []
    assert faults([HISTORY[0], forged(HISTORY[1], sub_task_id="s2")]) == [(2, "foreign")]


@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b'{"type":"Created"}',
        b'{"type":"Exploded"}',
        HISTORY[1][:-1],
        HISTORY[1].replace(b'"version":2', b'"version":"2"'),
        HISTORY[1].replace(b'"schema":1', b'"schema":"1"'),
        HISTORY[1].replace(b'"schema":1', b'"schema":0'),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=range(12),
)
def test_what_cannot_be_read(rubbish: bytes) -> None:
    """H3, I5: bytes that are no event are `history.unreadable`; the walk names them and goes on."""
    with pytest.raises(HistoryError) as caught:
        decode(rubbish)
    assert caught.value.code == "history.unreadable"
    tampered = [HISTORY[0], rubbish, *HISTORY[2:]]
    assert faults(tampered, latest=7) == [(2, "unreadable")]


def test_a_newer_schema_is_refused() -> None:
    """I5: written by a newer release: refused, and the message says so."""
    newer = HISTORY[1].replace(b'"schema":1', b'"schema":2')
    for stored in (newer, newer.replace(b'"type":"Linked"', b'"type":"Beamed"')):
        with pytest.raises(HistoryError) as caught:
            decode(stored)
        assert caught.value.code == "history.newer"
        assert caught.value.detail == {"schema": 2, "supported": SCHEMA}
        assert "newer release" in caught.value.message


def test_an_older_schema_is_upcast(monkeypatch: pytest.MonkeyPatch) -> None:
    """I5: written by an older release: upcast step by step, its hash as it was stored."""
    old = HISTORY[1].replace(b'"schema":1', b'"schema":0').replace(b'"remote_task_id"', b'"task"')

    def rename(fields: dict[str, Any]) -> dict[str, Any]:
        fields["remote_task_id"] = fields.pop("task")
        return fields

    steps: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {-1: rename, 0: dict}
    monkeypatch.setattr(chain, "UPCASTS", steps)
    with pytest.raises(HistoryError):
        decode(old)
    steps[0] = rename
    event = decode(old)
    assert event.schema == SCHEMA
    assert event.hash == json.loads(old)["hash"]
    assert json.loads(encode(event)) == json.loads(HISTORY[1]) | {"hash": event.hash}


@pytest.mark.parametrize("index", range(len(HISTORY)))
def test_fields_of_a_later_release_are_no_fault(index: int) -> None:
    """I5, H3: a field that is not known is passed over in reading, and is part of the hash."""
    stored = HISTORY[index].replace(b'"actor"', b'"mood":"fine","actor"', 1)
    assert decode(stored) == decode(HISTORY[index])
    assert digest(stored) != decode(stored).hash


@pytest.mark.parametrize("tail", [b" ", b"\n", b"}", b'"'])
def test_bytes_after_the_hash_show(tail: bytes) -> None:
    """H3: nothing may stand after the hash."""
    assert digest(HISTORY[0] + tail) is None
    assert digest(b"{}") is None
    assert faults([HISTORY[0] + tail], latest=1)
