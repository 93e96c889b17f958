"""How refusals speak of values: in JSON's words, and in one shape for programs."""

import msgspec
import pytest

from locum.adapters.requests import (
    checked_id,
    checked_line,
    checked_parts,
    checked_text,
    checked_timeout,
)
from locum.adapters.values import Mistake, accepted_in, found_in, refusal_of
from locum.core.errors import RequestError


@pytest.mark.parametrize(
    "value, words",
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "the number 7"),
        (-1.5, "the number -1.5"),
        (float("nan"), "the number nan"),
        (10**400, "a very large number"),
        ("", "an empty string"),
        (" \n", "a string of white space"),
        ('say "x"', r'the string "say \"x\""'),
        ("Zoë", 'the string "Zoë"'),
        ("a\ud800", 'the string "a\\ud800"'),
        ("x" * 61, "a string of 61 characters"),
        ([], "an empty array"),
        ([1], "an array of 1 entry"),
        ((1, 2), "an array of 2 entries"),
        ({"a": 1}, "an object"),
        (b"x", "what is no JSON value (bytes)"),
    ],
)
def test_what_was_found(value: object, words: str) -> None:
    """J2: a value is told in JSON's words, and a long one is not repeated."""
    assert found_in(value) == words
    found_in(value).encode()


@pytest.mark.parametrize(
    "said, words",
    [
        ("Expected `str`, got `int`", "a string"),
        ("Expected `str` of length >= 1", "a string of at least 1 character"),
        ("Expected `str` of length <= 200", "a string of at most 200 characters"),
        ("Expected `array` of length <= 1000", "an array of at most 1000 entries"),
        ("Expected `int | null`, got `float`", "a whole number or null"),
        ("Expected `int` >= 1", "a whole number, at least 1"),
        ("Expected `float` > 0.0", "a number, more than 0"),
        ("Expected `float` <= 31622400.0", "a number, at most 31622400"),
        ("Expected `bool`, got `str`", "true or false"),
        ("Expected `object`, got `array`", "an object"),
        ("Number out of range", None),
    ],
)
def test_what_is_accepted(said: str, words: str | None) -> None:
    """J2: what msgspec says in Python's words is told in JSON's."""
    assert accepted_in(said) == words


def test_every_mistake_is_told() -> None:
    """J2: the message says what is in `detail.errors`, one sentence a mistake."""
    error = refusal_of([Mistake("goal", "null", "a string"), Mistake("", "nothing", "an object")])
    assert error.code == "request.invalid"
    assert error.message == (
        "goal: found null; accepted: a string. the body: found nothing; accepted: an object."
    )
    assert error.detail == {
        "errors": [
            {"path": "goal", "found": "null", "accepted": "a string"},
            {"path": "", "found": "nothing", "accepted": "an object"},
        ]
    }


@pytest.mark.parametrize(
    "hand_in, path",
    [
        (lambda: checked_text("goal", 5), "goal"),
        (lambda: checked_text("goal", " ", empty=False), "goal"),
        (lambda: checked_text("goal", "x" * 11, limit=10), "goal"),
        (lambda: checked_text("goal", "\ud800"), "goal"),
        (lambda: checked_line("name", "a\nb"), "name"),
        (lambda: checked_id("parent_id", " "), "parent_id"),
        (lambda: checked_timeout("5"), "timeout"),
        (lambda: checked_timeout(0), "timeout"),
        (lambda: checked_parts("x"), "parts"),
        (lambda: checked_parts([{"text": "x"}] * 1001), "parts"),
        (lambda: checked_parts([5]), "parts[0]"),  # type: ignore[list-item]  # that is the mistake
        (lambda: checked_parts([{"text": "x"}, {}]), "parts[1]"),
        (lambda: checked_parts([{"text": "x", "url": "y"}]), "parts[0]"),
        (lambda: checked_parts([{"text": "x", "mime": "y"}]), "parts[0].mime"),
        (lambda: checked_parts([{"text": 5}]), "parts[0].text"),
        (lambda: checked_parts([{"text": "\ud800"}]), "parts[0].text"),
        (lambda: checked_parts([{"raw": "%%"}]), "parts[0].raw"),
        (lambda: checked_parts([{"data": {"x": 2**53 + 1}}]), "parts[0].data"),
        (lambda: checked_parts([{"data": {"x": {1}}}]), "parts[0].data"),
        (lambda: checked_parts([{"text": "x", "metadata": {"n": 10**400}}]), "parts[0].metadata"),
    ],
)
def test_a_refusal_in_python_has_the_same_shape(hand_in: object, path: str) -> None:
    """J2: what a Python caller hands in is refused as over HTTP: path, found, accepted."""
    assert callable(hand_in)
    with pytest.raises(RequestError) as caught:
        hand_in()
    (mistake,) = caught.value.detail["errors"]
    assert mistake["path"] == path
    assert caught.value.message.startswith(f"{path}: found {mistake['found']}; accepted: ")
    assert msgspec.json.decode(msgspec.json.encode(caught.value.detail)) == caught.value.detail
