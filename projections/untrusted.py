"""What a remote agent wrote, as a model may read it: inside a marked block it cannot leave (E6).

The block is `<untrusted agent="…">`, the words and `</untrusted>`, each on lines of their own. No
character is left inside it that could be taken for a tag's delimiter, however it is spelled: `<`,
`>` and all that look like them become `‹` and `›`, and controls that hide or reorder text go.
"""

import re
import unicodedata

__all__ = ["neutralised", "one_line", "untrusted_block"]

_OPENING = frozenset("<‹≺≪⋖⟨〈❬❮❰⦑⧼⪡ᐸ˂")
_CLOSING = frozenset(">›≻≫⋗⟩〉❭❯❱⦒⧽⪢ᐳ˃")
_JOINERS = ("\u200c", "\u200d")
"""Zero-width (non-)joiners spell words in several scripts, and emoji; they cannot form a tag."""
_IGNORABLES = range(0xE0000, 0xE1000)
"""The plane of tags and variation selectors, in which text can hide from a reader's eye."""
_UNSAFE = re.compile(r"[^\n\t\x20-\x3b\x3d\x3f-\x7e\u00a1-\u00ac\u00ae-\u02af]")
"""What has to be looked at; nearly all text in Latin letters passes without."""


def neutralised(words: str) -> str:
    """`words` with nothing in it that closes a block or opens one; never longer than before."""
    plain = words.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub(lambda found: _safe(found[0]), plain)


def _safe(character: str) -> str:
    match unicodedata.category(character):
        case "Cs":
            return "\N{REPLACEMENT CHARACTER}"
        case "Cc":
            return " "
        case "Cf":
            return character if character in _JOINERS else ""
        case "Zl" | "Zp":
            return "\n"
    if ord(character) in _IGNORABLES:
        return ""
    looks = frozenset(unicodedata.normalize("NFKD", character))
    if looks & _OPENING:
        return "‹"
    if looks & _CLOSING:
        return "›"
    return character


def one_line(words: str) -> str:
    """`words` neutralised and on one line: each run of white space is one space."""
    return " ".join(neutralised(words).split())


def untrusted_block(words: str, *, agent: str) -> str:
    """The words of the agent with the id `agent`, marked as what they are."""
    marked = one_line(agent).replace('"', "'")
    return f'<untrusted agent="{marked}">\n{neutralised(words)}\n</untrusted>'
