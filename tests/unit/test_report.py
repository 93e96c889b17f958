"""What agents say in our own types: parts, their size, their data and their words."""

import msgspec
import pytest
from msgspec import UNSET

from locum.core.report import Part, artifacts_text, parts_text, parts_words
from tests.lives import artifact, data, text


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
