"""What artifacts gained since the last turn, however they are cut."""

from locum.core.artifacts import gained_parts, measure
from locum.core.report import Part
from tests.lives import Life, artifact, data, remote, task, text


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


def test_what_came_by_the_reply_is_no_question() -> None:
    """D16: at a reply all that was heard so far is behind it, also what the question did not have."""
    life = Life.parked(artifacts=(artifact("b", "x"),))
    late = artifact("a", "Notes. ")
    (woken,) = life.reply(artifacts=(late,))
    assert life.sub_task.seen == measure((artifact("b", "x"), late))
    (parked,) = life.get(
        task("INPUT_REQUIRED", artifacts=(artifact("a", "Notes. Which?"),), remote_at=remote(9))
    )
    assert (woken.seen, parked.text) == (measure((artifact("b", "x"), late)), "Which?")


def test_a_reply_after_a_restart() -> None:
    """D16, I1: what was not heard again by then is still behind it."""
    life = Life.parked(artifacts=(artifact("b", "x"),))
    seen = life.sub_task.seen
    life.reply()
    assert life.sub_task.seen == seen == measure((artifact("b", "x"),))
