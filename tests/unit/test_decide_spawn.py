"""Deciding about a brief: what Created holds, and what is refused since it cannot be read back."""

from typing import Any

import pytest

from locum.core.chain import GENESIS, decode
from locum.core.decide import decide
from locum.core.errors import RequestError
from locum.core.events import Created, Follows
from tests.lives import START, Life, data, remote, spawn, text


def test_created_holds_the_whole_brief() -> None:
    """C2, H1: Created has the brief, the message id it will send and the card's digest."""
    command = spawn(
        parts=(data({"n": 1}),),
        envelope="full",
        model="big",
        reasoning_effort="high",
        parent_tasks=("t0",),
        follows=Follows(sub_task_id="s0", remote_task_id="t0", context_id="c0"),
        deadline=remote(60),
        idempotency_key="i1",
    )
    sub_task, events = decide(None, command)
    (created,) = events
    assert isinstance(created, Created)
    assert (created.version, created.cause, created.previous_hash) == (1, "parent", GENESIS)
    for name in command.__struct_fields__:
        assert getattr(created, name) == getattr(command, name)
        if name not in ("sub_task_id", "at", "actor", "cause"):
            assert getattr(sub_task, name) == getattr(command, name)
    assert sub_task is not None
    assert (sub_task.id, sub_task.created_at, sub_task.state) == ("s1", START, "SUBMITTED")


def test_the_same_id_again_is_no_news() -> None:
    """C10: a sub-task that is there already (idempotency key) is not recorded again."""
    life = Life(idempotency_key="i1")
    assert life.do(spawn(idempotency_key="i1", goal="another")) == ()
    assert life.sub_task.goal == "Count the red chairs"


class _Strange:
    def __repr__(self) -> str:
        return "_Strange()"  # without an address: it is part of a test's id


@pytest.mark.parametrize(
    "fields",
    [
        {"goal": "\ud800"},
        {"acceptance_criteria": ("fine", "\udfff")},
        {"actor": "a\ud800"},
        {"parts": (text("\ud800"),)},
        {"parts": (data({"\ud800": 1}),)},
        {"parts": (data(float("nan")),)},
        {"parts": (data({"x": float("inf")}),)},
        {"parts": (data((1, 2)),)},
        {"parts": (data({1: 2}),)},
        {"parts": (data(_Strange()),)},
        {"parts": ("no part",)},
        {"goal": None},
        {"name": 5},
    ],
    ids=str,
)
def test_what_cannot_be_read_back_is_refused(fields: dict[str, Any]) -> None:
    """J2, I4: a brief that would make its history unreadable is a RequestError, and not recorded."""
    with pytest.raises(RequestError) as caught:
        decide(None, spawn(**fields))
    assert caught.value.code == "request.invalid"


def test_what_nests_without_end_is_refused() -> None:
    """J3: so is data that is nested too deep to be read."""
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(RequestError):
        decide(None, spawn(parts=(data(deep),)))


@pytest.mark.parametrize("value", [1.0, 2**70, -0.5, "\x00", {"a": [None, True, {}]}, None])
def test_data_of_the_brief_is_recorded_as_it_is(value: Any) -> None:
    """D12, case R9: numbers, nulls and control characters of the caller come out as they went in."""
    life = Life(parts=(data(value),))
    assert repr(life.sub_task.parts[0].data) == repr(value)
    (back,) = (decode(stored) for stored in life.stored)
    assert back == life.events[0]
    assert repr(back.parts[0].data) == repr(value)
