"""Artifacts without end: bounded in bytes, in parts, in time and in memory."""

import tracemalloc

from locum.core.artifacts import Artifacts
from locum.core.growing import COST, FREE, size_of
from locum.core.report import Part, parts_text
from tests.lives import artifact, chunk, data, task, text

from .assembled import snapshot, together, words


def test_an_endless_artifact_is_bounded() -> None:
    """J3: past the limit nothing more is taken in, which is said; what is there is over it."""
    artifacts = together(chunk("a", "x" * 60), limit=100)
    assert artifacts.note(chunk("a", "x" * 60, append=True)) == ()
    for _ in range(1_000):
        assert artifacts.note(chunk("a", "x" * 60, append=True)) == ("artifact.over_limit",)
        assert artifacts.note(chunk("b", "x")) == ("artifact.over_limit",)
    assert 100 < size_of(artifacts.whole) < 200


def test_past_the_limit_a_replacement_may_shrink_it() -> None:
    """J3: an agent that replaces what was too large by less is within the limit again."""
    artifacts = together(chunk("a", "x" * 200), limit=100)
    assert artifacts.note(chunk("a", "y" * 300)) == ("artifact.over_limit",)
    assert artifacts.note(chunk("a", "z" * 50)) == ()
    assert artifacts.note(chunk("a", "z", append=True)) == ()
    assert words(artifacts) == [("a", "z" * 50 + "z")]


def test_past_the_limit_the_snapshot_begins_anew() -> None:
    """J3, D12: GetTask's whole word counts, and not what a stream doubled past the limit."""
    heard = (chunk("b", "y", last=True), chunk("a", "x" * 200, last=True))
    artifacts = together(*heard, limit=100)
    assert artifacts.note(snapshot(artifact("a", "x" * 50))) == ()
    assert words(artifacts) == [("a", "x" * 50)]
    assert artifacts.note(chunk("b", "z", append=True)) == ()
    assert words(artifacts) == [("a", "x" * 50), ("b", "z")]
    assert artifacts.note(snapshot(artifact("a", "x" * 200))) == ("artifact.over_limit",)
    assert artifacts.note(task("COMPLETED")) == ()
    assert words(artifacts) == [("a", "x" * 200), ("b", "z")]


def test_other_artifacts_at_every_snapshot_are_bounded() -> None:
    """J3: an agent that names its artifacts anew in each snapshot does not make it grow."""
    artifacts = Artifacts(limit=100)
    for number in range(100):
        artifacts.note(snapshot(artifact(f"a{number}", "x" * 60)))
        assert size_of(artifacts.whole) < 300


def test_a_million_empty_parts_are_not_free() -> None:
    """J3: parts and artifacts beside what they carry count, once there are many."""
    parts = [data(1, media_type=str(number % 2)) for number in range(FREE + 10)]
    assert size_of((artifact("a", *parts),)) == 1 + 2 * (FREE + 10) + 10 * COST
    many = tuple(artifact("a") for _ in range(FREE + 10))
    assert size_of(many) == FREE + 10 + 10 * COST
    artifacts = Artifacts(limit=10_000)
    for part in parts * 10:
        artifacts.note(chunk("a", part, append=True))
    assert sum(len(found.parts) for found in artifacts.whole) < FREE + 200
    artifacts = Artifacts(limit=10_000)
    for number in range(5_000):
        artifacts.note(chunk(f"a{number}"))
    assert len(artifacts) < FREE + 200


def test_the_running_size_is_the_size() -> None:
    """J3: what is counted while chunks come in is what there is in the end."""
    many = [data(1) for _ in range(FREE - 2)]
    reports = (
        chunk("m", *many),
        chunk("m", data(1), append=True),
        chunk("m", data(1), append=True),
        chunk("m", data(1), append=True),
        chunk("a", "é", metadata={"k": 1}, name="n"),
        chunk("a", "é", append=True, metadata={"kk": 22}),
        chunk("a", append=True, metadata={"k": "é" * 9, "kkk": None}, description="d"),
        chunk("a", data([1, 2], filename="f"), Part(url="https://x"), append=True),
        chunk("b", Part(raw="AAECAw==")),
        chunk("b", "x"),
        snapshot(artifact("c", "y"), artifact("a", "é")),
    )
    for count in range(1, len(reports) + 1):
        size = size_of(together(*reports[:count]).whole)
        within, over = Artifacts(limit=size), Artifacts(limit=size - 1)
        for report in reports[:count]:
            within.note(report)
            over.note(report)
        assert within.note(chunk("new")) == ()
        assert over.note(chunk("new")) == ("artifact.over_limit",)


def test_a_great_many_last_chunks() -> None:
    """J3, J4: an artifact more takes as long as the first, however many have been closed."""
    artifacts = Artifacts()
    for number in range(100_000):
        artifacts.note(chunk(str(number), "x", last=True))
    assert len(artifacts) == 100_000
    assert artifacts.note(chunk("0", "y", append=True)) == ("artifact.append_after_last",)


def test_a_great_many_chunks_beside_much_metadata() -> None:
    """J3, J4: a chunk takes as long as what it brings, however much metadata is there already."""
    artifacts = together(chunk("a", "x", metadata={f"k{n}": "v" * 90 for n in range(10_000)}))
    for number in range(30_000):
        artifacts.note(chunk("a", "x", append=True, metadata={"last": number}))
    (whole,) = artifacts.whole
    assert parts_text(whole.parts) == "x" * 30_001
    assert (len(whole.metadata), whole.metadata["last"]) == (10_001, 29_999)


def test_small_chunks_take_little_memory() -> None:
    """J3: what is held is about as much as what is counted, however small the chunks are."""
    count = 20_000
    artifacts = together(chunk("a", "\u4e00"))
    tracemalloc.start()
    try:
        for number in range(1, count):
            artifacts.note(chunk("a", chr(0x4E00 + number), append=True))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (whole,) = artifacts.whole
    assert whole.parts == (text("".join(chr(0x4E00 + number) for number in range(count))),)
    assert held < 3 * size_of(artifacts.whole)
