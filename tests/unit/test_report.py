"""What agents say in our own types, and their artifacts put together: complete, never doubled."""

import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from locum.core.artifacts import (
    COST,
    FREE,
    Artifacts,
    gained_parts,
    measure,
    merge_snapshot,
    size_of,
)
from locum.core.report import Artifact, Part, RemoteReport, artifacts_text, parts_text, parts_words
from tests.lives import artifact, chunk, data, status, task, text


def together(*reports: RemoteReport, limit: int | None = None) -> Artifacts:
    """All reports taken in."""
    artifacts = Artifacts(limit=limit)
    for report in reports:
        artifacts.note(report)
    return artifacts


def snapshot(*artifacts: Artifact) -> RemoteReport:
    """What GetTask has."""
    return task("COMPLETED", artifacts=artifacts)


def words(artifacts: Artifacts) -> list[tuple[str, str]]:
    """Each artifact's id and text, in order."""
    return [(found.artifact_id, parts_text(found.parts)) for found in artifacts.whole]


HELLO = (
    chunk("a", "Hello, "),
    chunk("a", "big ", append=True),
    chunk("a", "world!", append=True, last=True),
)


# --- updates


def test_chunks_make_one_text() -> None:
    """D12, case R1: appended chunks are one text, joined as they are, and one part."""
    artifacts = together(*HELLO)
    assert artifacts.whole == (artifact("a", "Hello, big world!"),)
    assert len(artifacts) == 1


def test_getting_the_same_doubles_nothing() -> None:
    """D12, case R1: a snapshot that agrees with the stream changes nothing."""
    artifacts = together(*HELLO, snapshot(artifact("a", "Hello, big world!")))
    assert words(artifacts) == [("a", "Hello, big world!")]
    chunked = snapshot(artifact("a", "Hello, ", "big ", "world!"))
    assert words(together(*HELLO, chunked)) == [("a", "Hello, big world!")]


def test_append_after_the_last_chunk() -> None:
    """D12, case R2: an append after the last chunk is an anomaly and changes nothing; a replacement
    counts.
    """
    artifacts = together(chunk("a", "x", last=True))
    assert artifacts.note(chunk("a", "y", append=True, last=True)) == (
        "artifact.append_after_last",
    )
    assert words(artifacts) == [("a", "x")]
    assert artifacts.note(chunk("a", "z", last=True)) == ()
    assert words(artifacts) == [("a", "z")]
    assert artifacts.note(chunk("a", "!", append=True)) == ("artifact.append_after_last",)


def test_a_replacement_opens_it_again() -> None:
    """D12, case R2: an artifact replaced by one that is not its last chunk takes appends again."""
    artifacts = together(chunk("a", "x", last=True), chunk("a", "y"))
    assert artifacts.note(chunk("a", "z", append=True)) == ()
    assert words(artifacts) == [("a", "yz")]


def test_append_to_an_unknown_id_creates_it() -> None:
    """D12: an append to an id that is not known creates it."""
    assert words(together(chunk("a", "x", append=True))) == [("a", "x")]


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("parts", [(), ("",), (Part(),)], ids=["none", "empty", "nothing"])
def test_empty_parts_erase_nothing(*, append: bool, parts: tuple[Any, ...]) -> None:
    """D12, case R5: an update without content keeps what is there, and takes its names over."""
    artifacts = together(chunk("a", "x"))
    assert artifacts.note(chunk("a", *parts, append=append, name="chairs")) == ()
    assert artifacts.whole == (artifact("a", "x", name="chairs"),)


def test_an_artifact_without_parts_is_kept() -> None:
    """D12, case R5: the first that is heard of an artifact may be without content."""
    artifacts = together(chunk("a", name="chairs"))
    assert artifacts.whole == (artifact("a", name="chairs"),)
    artifacts.note(chunk("a", "x", append=True))
    assert artifacts.whole == (artifact("a", "x", name="chairs"),)


def test_metadata_of_chunks_is_merged() -> None:
    """D12, case R7: metadata of appended chunks is merged, the last value wins; of a replacement,
    replaced.
    """
    artifacts = together(
        chunk("a", "x", metadata={"k": 1, "l": 1}, description="one"),
        chunk("a", "y", append=True, metadata={"k": 2, "m": 2}, name="chairs"),
    )
    (found,) = artifacts.whole
    assert found.metadata == {"k": 2, "l": 1, "m": 2}
    assert (found.name, found.description) == ("chairs", "one")
    artifacts.note(chunk("a", "z", metadata={"n": 3}))
    assert artifacts.whole == (artifact("a", "z", metadata={"n": 3}),)


def test_all_kinds_of_parts_are_kept() -> None:
    """D12, case R6: text, data, files and URLs keep media type and file name, in order."""
    parts = (
        text("see", media_type="text/markdown"),
        Part(raw="AAECAw==", media_type="image/png", filename="chair.png"),
        Part(url="https://example.com/x", media_type="text/html"),
        data({"red": 4}, media_type="application/json", metadata={"k": 1}),
    )
    artifacts = together(chunk("a", parts[0]), chunk("a", *parts[1:], append=True))
    assert artifacts.whole == (artifact("a", *parts),)


def test_only_texts_of_one_kind_are_joined() -> None:
    """D12: chunks of text are one part only where nothing else would be lost by it."""
    artifacts = together(
        chunk("a", text("a", media_type="text/plain")),
        chunk("a", text("b", media_type="text/plain"), append=True),
        chunk("a", text("c", media_type="text/markdown"), append=True),
        chunk("a", data(1), append=True),
        chunk("a", text("d", filename="d.txt"), append=True),
        chunk("a", text("e", filename="d.txt", metadata={"k": 1}), append=True),
    )
    assert artifacts.whole == (
        artifact(
            "a",
            text("ab", media_type="text/plain"),
            text("c", media_type="text/markdown"),
            data(1),
            text("d", filename="d.txt"),
            text("e", filename="d.txt", metadata={"k": 1}),
        ),
    )


def test_looking_does_not_disturb() -> None:
    """D12: what there is can be asked for between chunks, and stays as it was."""
    artifacts = together(HELLO[0])
    first = artifacts.whole
    artifacts.note(HELLO[1])
    assert artifacts.whole is artifacts.whole
    assert first == (artifact("a", "Hello, "),)
    assert words(artifacts) == [("a", "Hello, big ")]


def test_states_bring_no_artifacts() -> None:
    """D12: a status update, and a snapshot without artifacts, leave what is there alone."""
    artifacts = together(*HELLO)
    assert artifacts.note(status("WORKING", "still at it")) == ()
    assert artifacts.note(task("COMPLETED")) == ()
    assert words(artifacts) == [("a", "Hello, big world!")]


# --- snapshots


def test_a_snapshot_fills_a_gap() -> None:
    """D12: what the stream missed at the beginning, in the middle or at the end comes from GetTask."""
    whole = artifact("a", "Hello, big world!")
    for heard in ("big world!", "Hello, world!", "Hello, ", ""):
        assert words(together(chunk("a", heard), snapshot(whole))) == [("a", "Hello, big world!")]


def test_what_only_the_stream_had_is_kept() -> None:
    """D12, case Q10: an artifact, or the rest of one, that GetTask does not have is not lost."""
    artifacts = together(*HELLO, chunk("b", "more"), snapshot(artifact("a", "Hello, ")))
    assert words(artifacts) == [("a", "Hello, big world!"), ("b", "more")]
    assert words(together(*HELLO, snapshot(artifact("a")))) == [("a", "Hello, big world!")]


def test_a_file_that_only_the_stream_had_is_kept() -> None:
    """D12: the same text without the file beside it is less, not the same."""
    file = Part(raw="AAEC", filename="x.bin")
    artifacts = together(chunk("a", "see", file), snapshot(artifact("a", "see")))
    assert artifacts.whole == (artifact("a", "see", file),)


def test_a_replayed_chunk_is_not_kept() -> None:
    """D7, D12: chunks that were replayed after a snapshot had them do not double the result."""
    artifacts = together(
        snapshot(artifact("a", "Hello, ", "big ")),
        chunk("a", "big ", append=True),
        chunk("a", data(1), append=True),
        snapshot(artifact("a", "Hello, big ", data(1))),
    )
    assert words(artifacts) == [("a", "Hello, big ")]
    artifacts = together(
        chunk("a", data(1)), chunk("a", data(1), append=True), snapshot(artifact("a", data(1)))
    )
    assert artifacts.whole == (artifact("a", data(1)),)
    artifacts = together(
        chunk("a", data(1), data(2)),
        chunk("a", data(1), data(2), append=True),
        snapshot(artifact("a", data(1))),
    )
    assert artifacts.whole == (artifact("a", data(1), data(2), data(1), data(2)),)


def test_a_replaced_artifact_is_taken_from_the_snapshot() -> None:
    """D12: GetTask has another text under the same id: the agent replaced it."""
    for draft in ("draft", "a much longer draft", "a"):
        artifacts = together(chunk("a", draft), snapshot(artifact("a", "final")))
        assert words(artifacts) == [("a", "final")]


def test_chunks_go_on_from_a_snapshot() -> None:
    """D12: what is appended after a snapshot is appended to it."""
    artifacts = together(snapshot(artifact("a", "Hello, ")), chunk("a", "world!", append=True))
    assert words(artifacts) == [("a", "Hello, world!")]


@pytest.mark.parametrize(
    "heard, got, expected",
    [
        ("b", "abc", "abc"),
        ("ab", "abc", "abc"),
        ("ba", "ab", "ab"),
        ("axb", "ab", "axb"),
        ("xab", "ab", "xab"),
        ("abx", "ab", "abx"),
        ("xy", "ab", "abxy"),
        ("axbyc", "cab", "xycab"),
    ],
)
def test_order_of_artifacts(heard: str, got: str, expected: str) -> None:
    """D12: artifacts are in the agent's order; what only the stream had keeps its neighbours."""
    merged = merge_snapshot(
        [artifact(letter, "heard") for letter in heard],
        [artifact(letter, "got more") for letter in got],
    )
    assert "".join(each.artifact_id for each in merged) == expected


def test_artifacts_that_share_an_id() -> None:
    """D12: of several artifacts under one id (or none) in a snapshot none is lost."""
    three = (artifact("", "one"), artifact("", "two"), artifact("", "two"))
    artifacts = together(chunk("", "one"), snapshot(*three))
    assert artifacts.whole == three
    assert together(snapshot(*three), snapshot(*three)).whole == three


def test_what_a_later_snapshot_has_no_more() -> None:
    """D12: what only an earlier snapshot had is gone when the agent has replaced it; what a stream
    brought stays, and so does everything when a snapshot shows no artifact at all.
    """
    draft, final = snapshot(artifact("draft", "about 10")), snapshot(artifact("final", "12"))
    assert words(together(draft, final)) == [("final", "12")]
    assert words(together(draft, snapshot())) == [("draft", "about 10")]
    streamed = together(draft, chunk("draft", ", or 11", append=True), final)
    assert words(streamed) == [("final", "12"), ("draft", "about 10, or 11")]


def test_chunks_that_a_snapshot_lists_apart() -> None:
    """D12: an agent that keeps each chunk as an artifact of its own says nothing twice."""
    heard = (chunk("a", "Hello, "), chunk("a", "world", append=True))
    apart = snapshot(artifact("a", "Hello, "), artifact("a", "world"), artifact("b", "!"))
    assert words(together(*heard, apart)) == [("a", "Hello, world"), ("b", "!")]


@given(st.lists(st.text("ab", max_size=3), max_size=6), st.data())
def test_any_cut_gives_the_same(pieces: list[str], draw: st.DataObject) -> None:
    """D12, case R1: however a text is cut into chunks, and whenever GetTask is asked, it comes
    once.
    """
    artifacts = Artifacts()
    sent = ""
    for piece in pieces:
        artifacts.note(chunk("a", piece, append=bool(sent)))
        sent += piece
        if draw.draw(st.booleans()):
            artifacts.note(snapshot(artifact("a", sent)))
    artifacts.note(snapshot(artifact("a", sent)))
    assert artifacts_text(artifacts.whole) == sent


# --- bounds


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


def test_a_snapshot_does_not_open_what_was_closed() -> None:
    """D12, case R1: a chunk after the last one is odd, also when GetTask was asked meanwhile."""
    artifacts = together(*HELLO, snapshot(artifact("a", "Hello, big world!"), artifact("b", "x")))
    late = chunk("a", "again", append=True)
    assert artifacts.note(late) == ("artifact.append_after_last",)
    assert artifacts.note(chunk("b", "y", append=True)) == ()


def test_what_is_handed_out_does_not_change() -> None:
    """D12: what was made of earlier chunks stays as it was when others come in."""
    artifacts = together(chunk("a", "x", metadata={"k": 1}))
    (before,) = artifacts.whole
    artifacts.note(chunk("a", "y", append=True, metadata={"k": 2}))
    assert before == artifact("a", "x", metadata={"k": 1})
    assert artifacts.whole == (artifact("a", "xy", metadata={"k": 2}),)


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


# --- parts


@pytest.mark.parametrize(
    "part, size, is_empty",
    [
        (Part(), 0, True),
        (text(""), 0, True),
        (text("é"), 2, False),
        (Part(raw=""), 0, True),
        (Part(raw="AAECAw=="), 6, False),
        (Part(url=""), 0, True),
        (Part(url="https://x"), 9, False),
        (data(None), 4, False),
        (data({"a": "é"}), 10, False),
        (text("x", media_type="a/b", filename="c", metadata={"d": 1}), 12, False),
    ],
)
def test_size_and_emptiness(*, part: Part, size: int, is_empty: bool) -> None:
    """J3, case R5: a part's size is what it carries, in bytes; it is empty when that is nothing."""
    assert (part.size, part.is_empty) == (size, is_empty)


@pytest.mark.parametrize(
    "value",
    [
        {"revision": 1, "ratio": 0.5, "b": True, "n": None, "big": 9007199254740991},
        None,
        1.0,
        [],
        "",
        {"b": 1, "a": {"é\x00\u2028": -0.5}},
        2**64,
    ],
)
def test_data_comes_out_as_it_went_in(value: object) -> None:
    """D12, case R9: whole numbers stay whole, `null` stays, and the order of names stays."""
    stored = msgspec.json.encode(data(value))
    back = msgspec.json.decode(stored, type=Part)
    assert repr(back.data) == repr(value)
    assert back.text is back.raw is back.url is UNSET
    assert msgspec.json.encode(back) == stored


def test_words_of_parts() -> None:
    """D16, case Q9, case Q6: the words are the text; with no text, the data as compact JSON, a line
    each.
    """
    assert parts_words((text("a"), data({"k": 1}), text("b"))) == "ab"
    assert (
        parts_words((data({"k": "é", "n": None}), data([1, 2.5]))) == '{"k":"é","n":null}\n[1,2.5]'
    )
    assert parts_words((Part(url="https://x"),)) == ""
    assert parts_text((data("x"),)) == ""


def test_text_of_artifacts() -> None:
    """D12: parts are joined as they are, artifacts by a line break; one without text adds none."""
    found = artifacts_text(
        (artifact("a", "x", "y"), artifact("b", data(1)), artifact("c", "z\n"), artifact("d"))
    )
    assert found == "xy\nz\n"


# --- what came since


def test_gained_is_what_came_since() -> None:
    """D16: what artifacts gained since the last turn, a new one whole."""
    before = (artifact("a", "one "), artifact("b", data(1)))
    after = (artifact("a", "one two"), artifact("b", data(1), data(2)), artifact("c", "three"))
    assert gained_parts(measure(before), after) == (text("two"), data(2), text("three"))
    assert gained_parts(measure(before), before) == ()
    assert gained_parts({}, before) == (text("one "), data(1))


def test_gained_does_not_depend_on_cuts() -> None:
    """D16, case Q10: GetTask joins or cuts the chunks in another way: nothing is new, nothing is
    lost.
    """
    chunked = (artifact("a", "Which ", "hall", "?"),)
    joined = (artifact("a", "Which hall?"),)
    assert gained_parts(measure(chunked), joined) == ()
    assert gained_parts(measure(joined), chunked) == ()
    more = (artifact("a", "Which hall? ", "Which row?"),)
    assert gained_parts(measure(chunked), more) == (text(" "), text("Which row?"))


def test_a_replaced_artifact_is_all_new() -> None:
    """D16: an agent that asks in one artifact, replaced at every turn, is heard each time."""
    seen = measure((artifact("q", "Which hall?"),))
    for words_ in ("How many rows do you mean?", "Row?", "which hall?"):
        assert gained_parts(seen, (artifact("q", words_),)) == (text(words_),)
    assert gained_parts(measure((artifact("q", data({"a": 1})),)), (artifact("q", data(2)),)) == (
        data(2),
    )


def test_gained_of_artifacts_that_share_an_id() -> None:
    """D16: artifacts under one id are counted together."""
    before = (artifact("", "one"), artifact("", "two"))
    assert gained_parts(measure(before), before) == ()
    assert gained_parts(measure(before), (*before, artifact("", "three"))) == (text("three"),)


def test_empty_parts_are_no_gain() -> None:
    """D16, case R5: an empty part asks nothing."""
    assert gained_parts({}, (artifact("a", "", Part()),)) == ()
