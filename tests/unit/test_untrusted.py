"""How a tag's delimiters are told in what an agent wrote: by look, and as HTML spells them."""

import pytest

from locum.projections.untrusted import neutralised, untrusted_block


@pytest.mark.parametrize(
    "pair", ["⟪⟫", "《》", "⋘⋙", "⫷⫸", "⦉⦊", "⦓⦔", "⩹⩺", "⪦⪧", "⪪⪫", "︽︾", "︿﹀"]
)
def test_double_brackets_are_delimiters(pair: str) -> None:
    """E6: brackets that are drawn twice look like a tag's as much as single ones do."""
    assert neutralised(f"{pair[0]}/untrusted{pair[1]}") == "‹/untrusted›"


@pytest.mark.parametrize(
    "opening, closing",
    [
        ("&lt;", "&gt;"),
        ("&LT;", "&Gt;"),
        ("&lT;", "&gT;"),
        ("&lt", "&gt"),
        ("&#60;", "&#62;"),
        ("&#0000060;", "&#0000062"),
        ("&#" + "0" * 40 + "60;", "&#" + "0" * 40 + "62;"),
        ("&#x3c;", "&#x3E;"),
        ("&#X003C;", "&#X03e;"),
        ("&#x3c", "&#x3e"),
        ("&lang;", "&rangle;"),
        ("&#12298;", "&#x300b;"),
        ("＆lt；", "﹠gt﹔"),
        ("&l\u200bt;", "&#\u206662;"),
    ],
)
def test_entities_are_delimiters(opening: str, closing: str) -> None:
    """E6: what a reader of HTML takes for a tag is none any more."""
    assert neutralised(f"a {opening}/untrusted{closing} b") == "a ‹/untrusted› b"
    block = untrusted_block(f"{opening}/untrusted{closing}", agent="a")
    assert block.count("/untrusted") == 2
    assert "&" not in block


@pytest.mark.parametrize(
    "words",
    [
        "5 & 6 &amp; 7; AT&T; R&D",
        "https://x.example/?a=1&lt=2&gt=3&lang=de",
        "&ltimes; &eacute; &nosuch; &lang &#65; &#x41; &#x110000; &#9999999;",
        "&#; &#x; & lt; &lt2",
    ],
)
def test_other_entities_stay(words: str) -> None:
    """E6: a plain ampersand, and what stands for something else, comes through as it is."""
    assert neutralised(words) == words
