"""The stored bytes of every event: what is on disk is what a later release has to read."""

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from locum.core.chain import decode, encode, seal
from locum.core.events import (
    EVENT_TYPES,
    Created,
    Event,
    Follows,
    Linked,
    Parked,
    PushRevoked,
    Resolved,
    Watch,
    Woken,
)
from locum.core.lifecycle import A2AState
from locum.core.report import Part, Seen
from tests.lives import artifact, data, text

COMMON = {
    "sub_task_id": "s1",
    "at": "2026-01-31T12:00:00.000000Z",
    "actor": "planner",
    "correlation_id": "k1",
    "previous_hash": "0" * 64,
}
REMOTE = {"remote_at": "2026-01-31T12:00:00.000001Z", "anomalies": ("json.null", "sse.bom")}
PARTS = (
    text('Which "hall"?\u2028\x00é', media_type="text/markdown"),
    data({"b": 1, "a": [0.5, 1.0, None, True, 9007199254740991]}, metadata={"k": "v"}),
    data(None),
    Part(raw="AAECAw==", filename="chair.png", media_type="image/png"),
    Part(url="https://example.com/x"),
    Part(),
)
EVENTS: dict[str, Event] = {
    "Created, bare": Created(
        version=1,
        cause="parent",
        parent_id="p1",
        agent_id="inventory",
        name="",
        goal="Count",
        description="",
        acceptance_criteria=(),
        parts=(),
        message_id="m1",
        participant_id="locum",
        card_digest="d1",
        **COMMON,
    ),
    "Created, full": Created(
        version=1,
        cause="parent",
        parent_id="p1",
        agent_id="self",
        name="chairs",
        goal="Count the red chairs",
        description="In the hall",
        acceptance_criteria=("a number", "a photo"),
        parts=PARTS,
        message_id="m1",
        participant_id="locum",
        card_digest="d1",
        envelope="full",
        model="big",
        reasoning_effort="high",
        parent_tasks=("t0",),
        follows=Follows(sub_task_id="s0", remote_task_id="t0", context_id="c0"),
        deadline="2026-01-31T13:00:00.000000Z",
        idempotency_key="i1",
        **COMMON,
    ),
    "Linked, bare": Linked(
        version=2,
        cause="send",
        remote_task_id="t1",
        context_id="",
        state=A2AState.SUBMITTED,
        **COMMON,
    ),
    "Linked, full": Linked(
        version=5,
        cause="send",
        remote_task_id="t2",
        context_id="c1",
        state=A2AState.WORKING,
        replaces="t1",
        **COMMON,
        **REMOTE,
    ),
    "Parked, bare": Parked(
        version=3,
        cause="follow",
        state=A2AState.AUTH_REQUIRED,
        text="",
        parts=(),
        watch=Watch(mode="off", fallback="off"),
        question=3,
        **COMMON,
    ),
    "Parked, full": Parked(
        version=6,
        cause="reply",
        state=A2AState.INPUT_REQUIRED,
        text="Which hall?",
        parts=PARTS,
        watch=Watch(mode="push", fallback="poll", config_id="locum-s1", token_digest="f" * 64),
        question=3,
        message_id="q1",
        seen={"a": Seen(size=5, digest="e" * 32)},
        refusal="too late",
        context_id="c1",
        **COMMON,
        **REMOTE,
    ),
    "Woken, bare": Woken(version=4, cause="push", text="", **COMMON),
    "Woken, by a reply": Woken(
        version=4,
        cause="reply",
        text="the big one",
        message_id="r1",
        question=3,
        parts=PARTS,
        seen={"a": Seen(size=5, digest="d" * 32)},
        context_id="c1",
        **COMMON,
        **REMOTE,
    ),
    "Woken, a refused reply": Woken(version=5, cause="reply", text="", refusal="no", **COMMON),
    "Resolved, bare": Resolved(
        version=7, cause="poll", state=A2AState.COMPLETED, text="", **COMMON
    ),
    "Resolved, full": Resolved(
        version=7,
        cause="deadline",
        state=A2AState.FAILED,
        text="no",
        artifacts=(
            artifact("a", *PARTS, name="chairs", description="all", metadata={"k": 1}),
            artifact("b"),
        ),
        code="deadline",
        delivery="unknown",
        confirmed=False,
        reason="not needed",
        account="The deadline passed.",
        status_text="Two could not be counted.",
        context_id="c1",
        **COMMON,
        **REMOTE,
    ),
    "PushRevoked, bare": PushRevoked(
        version=8,
        cause="push",
        config_id="locum-s1",
        remote_task_id="t1",
        outcome="deleted",
        **COMMON,
    ),
    "PushRevoked, full": PushRevoked(
        version=8,
        cause="recovery",
        config_id="locum-s1",
        remote_task_id="t1",
        outcome="refused",
        detail="-32003",
        **COMMON,
    ),
}


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_stored_bytes(name: str, snapshot: SnapshotAssertion) -> None:
    """H1, H3, I5: an event's bytes are what they were when it was released, its hash included."""
    stored = encode(seal(EVENTS[name]))
    assert stored.decode() == snapshot
    back = decode(stored)
    assert encode(back) == stored
    assert back == seal(EVENTS[name])


def test_every_field_is_here() -> None:
    """I5: each of the six is stored here, each of its fields with another value than its default."""
    never_given = {"schema", "hash"}
    for kind in EVENT_TYPES.values():
        same = [event for event in EVENTS.values() if type(event) is kind]
        assert same
        from_agents = set() if kind in (Created, PushRevoked) else set(REMOTE)
        for field in msgspec.structs.fields(kind):
            name = field.name
            if name in never_given or (name in REMOTE and name not in from_agents):
                continue
            if field.required:
                continue
            bare = {repr(field.default), "()", "{}"}
            assert any(repr(getattr(event, name)) not in bare for event in same), (kind, name)


def test_topics_are_what_they_were(snapshot: SnapshotAssertion) -> None:
    """I5: a stored name outlives a class's."""
    assert {topic: kind.__name__ for topic, kind in EVENT_TYPES.items()} == snapshot
