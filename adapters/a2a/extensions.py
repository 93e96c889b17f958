"""The A2A extensions that locum speaks: their URIs, media type and metadata keys, and nothing else.

What a card advertises is compared with these in `cards` (A3, A7); what goes into a message is
made in envelope.py (C3); what comes back is read in reports.py (D13).
"""

__all__ = [
    "IMPLEMENTED",
    "PARTICIPANT_HEADER",
    "PARTICIPANT_METADATA_KEY",
    "STATUS_EXTENSION",
    "STATUS_METADATA_KEY",
    "TASK_EXTENSION",
    "TASK_MEDIA_TYPE",
]

TASK_EXTENSION = "https://madarauchiha-314.github.io/tiny-harness/a2a/ext/task/v1"
"""The task envelope: a data part of `TASK_MEDIA_TYPE` beside the brief's text (C3)."""

TASK_MEDIA_TYPE = "application/vnd.tiny-harness.event+json"
"""Media type of the envelope's data part."""

STATUS_EXTENSION = "https://madarauchiha-314.github.io/tiny-harness/a2a/ext/status/v1"
"""The status sub-state: what a parked task really waits for (D13)."""

STATUS_METADATA_KEY = "io.github.madarauchiha-314.tiny-harness/status"
"""Key of the sub-state in an update's or a task's metadata: `{"sub_state": "…"}`."""

PARTICIPANT_HEADER = "X-Participant-Id"
"""Header that names who delegated, on every call about a remote task (C9)."""

PARTICIPANT_METADATA_KEY = "participant_id"
"""Key of the same name in a message's metadata."""

IMPLEMENTED = frozenset({TASK_EXTENSION, STATUS_EXTENSION})
"""URIs of every extension that locum implements; a card that requires another is refused (A3)."""
