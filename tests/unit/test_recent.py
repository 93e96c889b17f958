"""What is remembered of the values used last."""

from hypothesis import given
from hypothesis import strategies as st

from locum.projections.recent import Recent


def test_the_one_used_longest_ago_goes_first() -> None:
    """J3: bounded by number; looking something up is using it, peeking is not."""
    recent: Recent[str] = Recent(count=2, weight=100)
    recent.put("a", "A", 1)
    recent.put("b", "B", 1)
    assert recent.get("a") == "A"
    assert recent.peek("b") == "B"
    recent.put("c", "C", 1)
    assert (recent.get("b"), recent.peek("b")) == (None, None)
    assert (recent.get("a"), recent.get("c"), len(recent)) == ("A", "C", 2)


def test_what_weighs_too_much_goes() -> None:
    """J3: bounded by weight; what is heavier than everything is not kept, nor its old value."""
    recent: Recent[str] = Recent(count=10, weight=10)
    recent.put("a", "A", 6)
    recent.put("b", "B", 4)
    recent.put("c", "C", 4)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (None, "B", "C")
    recent.put("b", "B2", 11)
    assert recent.get("b") is None
    assert (recent.weight_of("c"), recent.weight_of("b")) == (4, 0)
    recent.put("d", "D", 6)
    assert (recent.get("c"), recent.get("d")) == ("C", "D")


def test_forgetting() -> None:
    """J3: what is dropped weighs nothing any more."""
    recent: Recent[str] = Recent(count=10, weight=10)
    recent.put("a", "A", 10)
    recent.drop("a")
    recent.drop("a")
    recent.put("b", "B", 10)
    assert recent.get("b") == "B"
    recent.clear()
    assert len(recent) == 0
    recent.put("c", "C", 10)
    assert recent.get("c") == "C"


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 12), st.booleans()), max_size=60)
)
def test_it_never_holds_too_much(steps: list[tuple[str, int, bool]]) -> None:
    """J3: whatever is put in and dropped, both bounds hold and no value is another's."""
    recent: Recent[tuple[str, int]] = Recent(count=4, weight=20)
    for key, weight, is_put in steps:
        if is_put:
            recent.put(key, (key, weight), weight)
        else:
            recent.drop(key)
        held = {k: recent.peek(k) for k in "abcdef"}
        values = [value for value in held.values() if value is not None]
        assert len(values) == len(recent) <= 4
        assert sum(value[1] for value in values) <= 20
        assert all(value is None or value[0] == k for k, value in held.items())
