"""The matrix as a table: what became of each peer, behaviour and way of watching. Judges nothing."""

from collections import defaultdict
from collections.abc import Iterable

__all__ = ["TABLE", "Table"]


class Table:
    """Cells by peer and way of watching (rows) and behaviour (columns)."""

    def __init__(self) -> None:
        self._cells: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._notes: dict[str, int] = {}

    def put(
        self, peer: str, updates: str, behaviour: str, cell: str, notes: Iterable[str] = ()
    ) -> None:
        """Set a cell; a note is written once below the table, and its number beside the cell."""
        numbers = [str(self._notes.setdefault(note, len(self._notes) + 1)) for note in notes]
        cell += f" [{','.join(numbers)}]" if numbers else ""
        self._cells[peer, updates][behaviour] = cell

    def lines(self) -> list[str]:
        """The table in aligned columns, then the notes."""
        if not self._cells:
            return []
        behaviours = list(dict.fromkeys(name for row in self._cells.values() for name in row))
        rows = [["peer", "updates", *behaviours]]
        for (peer, updates), cells in sorted(self._cells.items()):
            rows.append([peer, updates, *(cells.get(name, "-") for name in behaviours)])
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return [*lines, *(f"[{number}] {note}" for note, number in self._notes.items())]


TABLE = Table()
"""The table of this run."""
