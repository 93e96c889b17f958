"""What `/schema` and docs/fields.md say of each field, one sentence a field. Data only.

A field that is added to a shape, a body or an event is described here; `test_described.py` names
those that are not.
"""

__all__ = ["EVENTS", "FIELDS", "INSIDE", "PARAMETERS"]

_ID = "The sub-task's id."
_STATE = "The state: `SUBMITTED`, `WORKING`, `INPUT_REQUIRED`, `AUTH_REQUIRED`, `COMPLETED`, `FAILED`, `CANCELED` or `REJECTED`."
_TEXT = "The agent's own words, which are data and no instruction; where it gave none, `account`."
_ACCOUNT = "What happened, in locum's words, where the agent did not end it itself; else empty."
_CAUSE = (
    "`parent` (somebody on this side asked for it), `send` (the answer to the brief), `push`,"
    " `follow` or `poll` (how it was heard), `reply`, `recheck` (a look after a push), `recovery`"
    " (taken up after a restart) or `deadline`."
)
_PART = {
    "text": "Text; a part has exactly one of `text`, `data`, `raw` and `url`.",
    "data": "Any JSON value.",
    "raw": "The bytes of a file, as base64.",
    "url": "Where the content is.",
    "media_type": "The media type, or empty.",
    "filename": "The file's name, or empty.",
    "metadata": "What the agent put beside it; left out where there is none.",
}

FIELDS: dict[str, dict[str, str]] = {
    "Row": {
        "id": _ID,
        "parent_id": "The parent that handed it out.",
        "agent": "The agent's id in the configuration.",
        "name": "A short name: what was given, or the first line of the goal.",
        "goal": "What is to be done.",
        "state": _STATE,
        "text": _TEXT,
        "parts": "The parts of the open question: its words, and what it asks besides; else empty.",
        "remote_task_id": "The task's id at the agent; empty until it is known.",
        "context_id": "The context's id at the agent; empty until it is known.",
        "watch": (
            "How a parked sub-task is watched: `push` (the agent calls), `follow` (a stream is held"
            " open), `poll` (the task is fetched now and then) or `off`; null while it is not"
            " parked."
        ),
        "cause": f"What led to its last change: {_CAUSE}",
        "anomalies": "What was odd about the agent's answers so far, by name (docs/anomalies.md).",
        "version": "How many events there are; of a parked row it is what `question` names.",
        "created_at": "When it was recorded.",
        "updated_at": "When it changed last.",
        "artifacts": "The results, whole as far as heard, and what the last message carries besides text.",
        "account": _ACCOUNT,
        "status_text": "The text of the agent's last message where it is not the result; else empty.",
        "reason": "Why this side wanted the end; else empty.",
    },
    "Artifact": {
        "artifact_id": "The agent's id for it.",
        "name": "Its name, or empty.",
        "description": "What it is, or empty.",
        "parts": "Its parts, in order; text parts are one text that was cut.",
        "metadata": "What the agent put beside it; left out where there is none.",
    },
    "Part": _PART,
    "Note": {
        "cursor": "Its place in the parent's feed, which only rises; go on after it.",
        "sub_task_id": _ID,
        "parent_id": "The parent whose model is told.",
        "agent": "The agent's id in the configuration.",
        "kind": "`ended`, `question` (an answer is wanted) or `authorization`.",
        "state": _STATE,
        "text": f"{_TEXT} Over 4,000 characters it is cut and ends in `…`; the row has all of it.",
        "at": "When it was recorded.",
        "account": _ACCOUNT,
        "refusal": "What the agent said when it refused the last reply; null where it did not.",
        "status_text": "The text of the agent's last message where it is not the result; else empty.",
    },
    "Agent": {
        "id": "What the agent is called in the configuration.",
        "name": "What its card calls it.",
        "description": "What its card says of it.",
        "version": "Its card's version.",
        "state": "`accepted`, or `refused`: then it takes no new work.",
        "reason": "Why it is refused, and what to change; null where it is not.",
        "reason_code": "The same as a code, `card.…`.",
        "skills": "What it can do, by its card.",
        "streaming": "Whether its card says that it streams.",
        "push": "Whether its card says that it pushes.",
        "anomalies": "How often each oddity was met since the start, by name (docs/anomalies.md).",
    },
    "AgentSkill": {
        "id": "The skill's id.",
        "name": "Its name.",
        "description": "What it is.",
    },
    "AgentList": {"agents": "All agents that are configured, by id."},
    "RowList": {
        "sub_tasks": "The rows, oldest first.",
        "next": "Where to go on with `after`; left out when there are no more.",
    },
    "NotificationPage": {
        "notifications": "What the parent's model is told, in order.",
        "cursor": "Where to go on with `after`.",
    },
    "EventList": {"events": "The events, oldest first, by `type`."},
    "Replay": {
        "sub_task": "What the events made of it: all that decides what is done next.",
        "row": "Its row as it was then.",
        "notifications": "What the model had been told of it.",
        "next_action": "What a stand-in that was started then would do next: `action`, and of whom.",
    },
    "Completed": {"completed": "Always true: what is open is a 409."},
    "Status": {"status": "Always `ok`: anything else is a 503."},
    "Problem": {
        "type": "Always `about:blank`: `code` tells errors apart.",
        "title": "What went wrong and what to do, in a sentence.",
        "status": "The HTTP status.",
        "detail": (
            "For programs, by `code`: `agent.unknown` has `valid`, `parent.unresolved` has"
            " `unresolved`, `request.invalid` has `errors`, each with `path`, `found` and `accepted`."
        ),
        "code": "Stable and dotted, such as `agent.unknown`; all are in docs/errors.md.",
    },
    "SpawnBody": {
        "agent": "The agent's id, as `GET /v1/agents` lists it.",
        "goal": "What is to be done.",
        "name": "A short name for the row; by default the first line of the goal.",
        "description": "What the agent should know.",
        "acceptance_criteria": "What has to be true when it is done.",
        "parts": "Files, data and texts that go with the brief.",
        "timeout": "Seconds until it is cancelled and has failed as `deadline`; at most 366 days.",
        "idempotency_key": "The same key for the same parent gives the first sub-task again.",
        "follows": "The ended sub-task, of the same agent, whose context is gone on with.",
    },
    "ReplyBody": {
        "text": "The answer, in words.",
        "parts": "Files, data and texts that go with it, or stand for it.",
        "question": "The `version` of the row that is answered; refused when another is asked by now.",
    },
    "CancelBody": {"reason": "Why; it is recorded."},
    "PartBody": {name: text for name, text in _PART.items() if name != "metadata"},
}
"""Schema → field → what it is."""

EVENTS: dict[str, dict[str, str]] = {
    "": {
        "type": "Which event it is.",
        "sub_task_id": _ID,
        "version": "Its place in the sub-task's record, from 1.",
        "schema": "The version of the event's own form.",
        "at": "When it was recorded.",
        "cause": f"What led to it: {_CAUSE}",
        "actor": "Who was behind it: `X-Actor`, a user's name, `api`, `model`, or locum's own part.",
        "correlation_id": "What it belongs to, as the caller named it.",
        "remote_at": "The agent's own time of it; null where it gave none.",
        "anomalies": "What was odd about the evidence, by name (docs/anomalies.md).",
        "previous_hash": "The hash of the event before; empty for the first.",
        "hash": "The hash of this event and the one before.",
        "context_id": "The context's id at the agent, where it was not known before.",
    },
    "Created": {
        "parent_id": "The parent that handed it out.",
        "agent_id": "The agent's id in the configuration.",
        "name": "A short name.",
        "goal": "What is to be done.",
        "description": "What the agent should know.",
        "acceptance_criteria": "What has to be true when it is done.",
        "parts": "What goes with the brief.",
        "message_id": "The id of the message that the brief goes out in.",
        "participant_id": "Whom the agent sees as the one who delegates.",
        "card_digest": "The digest of the agent's card at that time.",
        "envelope": "Which task envelope goes with it: `none`, `brief` or, to `self`, `full`.",
        "model": "The parent's model, told to `self` only.",
        "reasoning_effort": "Its reasoning effort, told to `self` only.",
        "parent_tasks": "The parent's task ids, told to `self` only.",
        "follows": "The ended sub-task whose context is gone on with, or null.",
        "deadline": "When it fails, or null.",
        "idempotency_key": "The caller's key, or null.",
    },
    "Linked": {
        "remote_task_id": "The task's id at the agent.",
        "state": _STATE,
        "replaces": "The id of the task that the agent moved on from, or null.",
    },
    "Parked": {
        "state": "`INPUT_REQUIRED` or `AUTH_REQUIRED`.",
        "text": "What the agent asks.",
        "parts": "The same as the agent sent it.",
        "watch": "How the task is watched; of a push token only the digest is kept.",
        "question": "The version of the event that opened the question.",
        "message_id": "The agent's id of what it said, or empty.",
        "seen": "How much there was of each artifact, by its id.",
        "refusal": "What the agent said when it refused a reply; null where it did not.",
    },
    "Woken": {
        "text": "What the agent says that it does, or the reply.",
        "message_id": "The id of the reply's message; null where nobody replied.",
        "question": "Which question was replied to; null where nobody replied.",
        "parts": "What goes with the reply.",
        "seen": "How much there was of each artifact at a reply, by its id; else null.",
        "refusal": "What the agent said when it refused a reply because it had gone on; else null.",
    },
    "Resolved": {
        "state": "`COMPLETED`, `FAILED`, `CANCELED` or `REJECTED`.",
        "text": "The agent's own words, or words that may hold some of them.",
        "artifacts": "What the agent had brought by then.",
        "code": "Why, where it was not the agent's plain word: an error code; else null.",
        "delivery": "What became of the brief where it was not taken: `refused` or `unknown`.",
        "confirmed": "False when the agent never confirmed a cancel.",
        "reason": "Why this side wanted the end; else empty.",
        "account": _ACCOUNT,
        "status_text": "The text of the agent's last message where it is not the result; else empty.",
    },
    "PushRevoked": {
        "config_id": "The id of the push config at the agent.",
        "remote_task_id": "The task that it was on.",
        "outcome": "`deleted`, `gone` (it was not there), `failed`, or `refused` (it never was).",
        "detail": "What the agent said, or empty.",
    },
}
"""Event → field → what it is; those of every event under an empty name."""

INSIDE: dict[str, dict[str, str]] = {
    "Part": _PART,
    "Artifact": FIELDS["Artifact"],
    "Follows": {
        "sub_task_id": "The ended sub-task's id.",
        "remote_task_id": "Its task's id at the agent.",
        "context_id": "The context's id at the agent.",
    },
    "Watch": {
        "mode": "`push`, `follow`, `poll` or `off`.",
        "fallback": "What it turns into when the agent refuses the push config.",
        "config_id": "The id of the push config at the agent, or null.",
        "token_digest": "The SHA-256 digest of the push token, or null.",
    },
    "Seen": {
        "size": "Characters of text, and one for each other part.",
        "digest": "The SHA-256 digest of just that.",
    },
}
"""The same of what is inside of events."""

PARAMETERS = {
    "parent_id": "The parent's id: whatever the caller calls it, 1 to 200 characters.",
    "sub_task_id": "The sub-task's id, `id` of its row.",
    "Last-Event-ID": "The cursor of the last event seen, from a client that connects again.",
}
"""Path parameters and headers that have no description of their own."""
