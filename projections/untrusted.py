"""What a remote agent wrote, as a model may read it: inside a marked block it cannot leave (E6).

The block is `<untrusted agent="…">`, the words and `</untrusted>`, each on lines of their own. No
character is left inside it that could be taken for a tag's delimiter, however it is spelled: `<`,
`>`, all that look like them and the entities of HTML that stand for them become `‹` and `›`, and
controls that hide or reorder text go.
"""

import re
import sys
import unicodedata
from html.entities import html5

__all__ = ["neutralised", "one_line", "untrusted_block"]

_OPENING = frozenset("<‹≺≪⋖⟨〈❬❮❰⦑⧼⪡ᐸ˂⟪《⋘⫷⦉⦓⩹⪦⪪ᚲ")
_CLOSING = frozenset(">›≻≫⋗⟩〉❭❯❱⦒⧽⪢ᐳ˃⟫》⋙⫸⦊⦔⩺⪧⪫")
_JOINERS = ("\u200c", "\u200d")
"""Zero-width (non-)joiners spell words in several scripts, and emoji; they cannot form a tag."""
_IGNORABLES = range(0xE0000, 0xE1000)
"""The plane of tags and variation selectors, in which text can hide from a reader's eye."""
_UNSAFE = re.compile(r"[^\n\t\x20-\x3b\x3d\x3f-\x7e\u00a1-\u00ac\u00ae-\u02af]")
"""What has to be looked at; nearly all text in Latin letters passes without."""
_ENTITY = re.compile(
    "[&＆﹠](?:#(?:0*([0-9]{1,7})(?![0-9])|x0*([0-9a-f]{1,6})(?![0-9a-f]))[;；﹔]?"
    r"|([a-z]{2,31})([;；﹔]|(?![\w=])))",
    re.IGNORECASE,
)
"""By number, or by name. Many readers do without the `;`, though not in the query of a URL."""
_BARE = ("lt", "gt")
"""The names that readers take without a `;`."""


def neutralised(words: str) -> str:
    """`words` with nothing in it that closes a block or opens one; never longer than before."""
    plain = words.replace("\r\n", "\n").replace("\r", "\n")
    safe = _UNSAFE.sub(lambda found: _safe(found[0]), plain)
    return _ENTITY.sub(_entity, safe)


def _entity(found: re.Match[str]) -> str:
    """What stands for a delimiter is one; any other entity, and a plain `&`, stays as it is."""
    decimal, hexadecimal, name, end = found.groups()
    if name:
        is_taken = end or name.lower() in _BARE
        meant = html5.get(f"{name};") or html5.get(f"{name.lower()};", "") if is_taken else ""
    else:
        number = int(decimal) if decimal else int(hexadecimal, 16)
        meant = chr(number) if number <= sys.maxunicode else ""
    return _delimiter(meant) or found[0]


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
    return _delimiter(character) or character


def _delimiter(characters: str) -> str:
    """What goes in the place of a delimiter, empty for anything else."""
    looks = frozenset(unicodedata.normalize("NFKD", characters))
    if looks & _OPENING:
        return "‹"
    return "›" if looks & _CLOSING else ""


def one_line(words: str) -> str:
    """`words` neutralised and on one line: each run of white space is one space."""
    return " ".join(neutralised(words).split())


def untrusted_block(words: str, *, agent: str) -> str:
    """The words of the agent with the id `agent`, marked as what they are."""
    marked = one_line(agent).replace('"', "'")
    return f'<untrusted agent="{marked}">\n{neutralised(words)}\n</untrusted>'
