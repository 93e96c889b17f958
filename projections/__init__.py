"""What follows from the events: the parents' rows, and what their models are told.

Everything here can be dropped and made again from the log, byte for byte the same (E5).
"""

from .notifications import Notification, note_for, note_to_json
from .rows import SubTaskRow, row_after, row_of, row_to_json
from .untrusted import untrusted_block

__all__ = [
    "Notification",
    "SubTaskRow",
    "note_for",
    "note_to_json",
    "row_after",
    "row_of",
    "row_to_json",
    "untrusted_block",
]
