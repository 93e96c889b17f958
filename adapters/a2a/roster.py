"""The roster: what a model is told about the agents it can delegate to (section B). Pure.

Cards are written by others: each field becomes one harmless line of bounded length, and no URL,
credential or security declaration is ever looked at.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from a2a.types.a2a_pb2 import AgentCard

__all__ = ["EMPTY", "Roster", "harmless", "plain_line", "roster_of"]

EMPTY = "There is no agent to delegate to."
"""What the roster says when no card is accepted (B5)."""

_HEAD = "Agents to delegate to, each by its id:"
_NAME, _DESCRIPTION, _SKILL_NAME, _SKILL_DESCRIPTION = 80, 500, 80, 200
_SKILLS = 10

# White space; control characters; what turns the direction of text around; what is not seen at
# all. The joiners of scripts and emoji (U+200C, U+200D) stay.
_BLANK = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_ANGLES = str.maketrans("<>", "‹›")


@dataclass(frozen=True, slots=True)
class Roster:
    """The text, and which fields of which agents were cut: (id, field) in the text's order."""

    text: str
    cut: tuple[tuple[str, str], ...]


def harmless(text: str, limit: int | None = None) -> str:
    """The text on one line, its angle brackets unlike those of tags (B2).

    Over `limit` characters it is cut and ends in `…`, which counts (B3).
    """
    return plain_line(text, limit).translate(_ANGLES)


def plain_line(text: str, limit: int | None = None) -> str:
    """The text on one line, cut like `harmless`, with the angle brackets that it has.

    For people: what a model reads goes through `harmless`, or into a marked block (E6).
    """
    line = _BLANK.sub(" ", text).strip(" ")
    if limit is None or len(line) <= limit:
        return line
    return line[: limit - 1] + "…"


def roster_of(cards: Iterable[tuple[str, AgentCard]]) -> Roster:
    """The roster of accepted cards, by id. The same cards always give the same bytes (B4)."""
    lines: list[str] = []
    cut: list[tuple[str, str]] = []
    for agent_id, card in sorted(cards, key=lambda pair: pair[0]):
        fields = _Fields(agent_id, cut)
        name = fields.line("name", card.name, _NAME)
        lines.append(f"- {agent_id}: {name}" if name else f"- {agent_id}")
        described = fields.line("description", card.description, _DESCRIPTION)
        if described:
            lines.append(f"  {described}")
        lines += _skills(fields, card)
    if not lines:
        return Roster(EMPTY, ())
    return Roster("\n".join([_HEAD, *lines]), tuple(cut))


@dataclass(frozen=True, slots=True)
class _Fields:
    agent_id: str
    cut: list[tuple[str, str]]

    def line(self, field: str, text: str, limit: int) -> str:
        line = harmless(text, limit)
        if line != harmless(text):
            self.cut.append((self.agent_id, field))
        return line


def _skills(fields: _Fields, card: AgentCard) -> Sequence[str]:
    if not card.skills:
        return ()
    lines = ["  Skills:"]
    for index, skill in enumerate(card.skills[:_SKILLS]):
        name = fields.line(f"skills[{index}].name", skill.name, _SKILL_NAME)
        described = fields.line(
            f"skills[{index}].description", skill.description, _SKILL_DESCRIPTION
        )
        lines.append(f"  - {name}: {described}" if described else f"  - {name}")
    more = len(card.skills) - _SKILLS
    if more > 0:
        lines.append(f"  - and {more} more {'skill' if more == 1 else 'skills'}")
    return lines
