"""Every oddity of an agent's answers that the wire mends: its name, what it means, what belongs
there. Only tables; docs/anomalies.md is made from them.

The names end up in the events that an odd answer led to (K2, H1) and are listed for people, so a
name once given stays.
"""

from typing import Final

__all__ = ["ANOMALIES", "EXPECTED", "OTHERS"]

ANOMALIES: Final[dict[str, str]] = {
    "http.content_encoding": "The answer was compressed although no compression was asked for.",
    "http.content_type": "The content type was missing, or the body was of another kind.",
    "http.empty_answer": "The call succeeded with no content where a result belongs.",
    "http.json_for_stream": "A call that asks for a stream was answered with one JSON body.",
    "http.stream_for_call": "A call that asks for one answer was answered with a stream.",
    "http.trailing_bytes": "More came after the end of a compressed body; it was not read.",
    "json.bad_unicode": "A text held a lone surrogate or a NUL; each became U+FFFD.",
    "json.bad_utf8": "The bytes were not UTF-8; each wrong one became U+FFFD.",
    "json.batch": "The answer stood alone in a list and was taken out of it.",
    "json.foreign_envelope": "A JSON-RPC envelope around an answer over HTTP+JSON was taken off.",
    "json.kind_frame": "A flat event as A2A 0.3 sent it was put into the 1.0 frame.",
    "json.lenient": "The JSON broke the grammar in a way that could be read all the same.",
    "json.many_payloads": "One event named several payloads; the first was kept.",
    "json.no_envelope": "An answer without its JSON-RPC envelope was put into one.",
    "json.no_frame": "A bare task, message or update was put into its frame.",
    "json.null_item": "A null in a list was left out.",
    "json.null_list": "A null where a list belongs was read as an empty list.",
    "json.number": "A number that no double can hold was kept as a text.",
    "json.part_legacy": "A part as A2A 0.3 sent it was put into its 1.0 form.",
    "json.part_split": "A part with several contents became one part for each.",
    "json.part_unreadable": "A part that cannot be read was replaced by a note.",
    "json.push_config_legacy": "A push config as A2A 0.3 sent it was put into its 1.0 form.",
    "json.role_alias": "A role was written otherwise than in A2A 1.0 and was read as meant.",
    "json.secret_quoted": "The answer quoted a credential that it was sent, which was masked.",
    "json.state_alias": "A state was written otherwise than in A2A 1.0 and was read as meant.",
    "json.state_unknown": "A state that A2A 1.0 does not know was read as unspecified.",
    "json.task_wrapper": "A task inside a wrapper, where a bare one belongs, was taken out of it.",
    "json.timestamp": "A timestamp that cannot be read was left out.",
    "json.too_deep": "Data was nested too deep to be read and was cut there.",
    "json.wrong_type": "A field of the wrong type was turned into the right one, or left out.",
    "message.echo": "A message of ours came back as an answer, and was passed over.",
    "message.role": "An answer of the agent's own was marked as a user's, and was taken all the same.",
    "sse.bom": "A byte order mark stood before the first event.",
    "sse.cut_event": "The stream ended in the middle of an event, which was left out.",
    "sse.no_payload": "An event held JSON that is neither an answer nor an error; it was skipped.",
    "sse.not_json": "An event held no JSON and was skipped.",
    "sse.unfinished_event": "The last event had no blank line after it and was taken all the same.",
    "task.id_missing": "A task or an update named no task; it was taken for the one asked about.",
}
"""Name of the anomaly, and one sentence on what was met and what was made of it."""

EXPECTED: Final[dict[str, str]] = {
    "http.content_encoding": "An answer as it is, since the request says `identity` (RFC 9110 12.5.3).",
    "http.content_type": (
        "`text/event-stream` for a stream; `application/json` for an answer, or"
        " `application/a2a+json` over HTTP+JSON (A2A 9.1, 11.1, 11.7)."
    ),
    "http.empty_answer": (
        "A JSON object, `{}` where there is nothing to say; A2A 3.1.10 leaves it open for a"
        " deletion, and clients that read every answer stumble over none."
    ),
    "http.json_for_stream": "Server-sent events, as the card says streaming (A2A 3.1.2, 3.3.4).",
    "http.stream_for_call": "One JSON answer (A2A 9.4, 11.4).",
    "http.trailing_bytes": "Compressed data and nothing else (RFC 1952 2.2, RFC 9110 8.4.1).",
    "json.bad_unicode": "Text in Unicode: no lone surrogates, no NUL (RFC 8259 8.2).",
    "json.bad_utf8": "JSON in UTF-8 (RFC 8259 8.1).",
    "json.batch": "The answer itself, not a list of one.",
    "json.foreign_envelope": "The bare object over HTTP+JSON; JSON-RPC is another binding (A2A 11.4).",
    "json.kind_frame": (
        "One of `task`, `message`, `statusUpdate`, `artifactUpdate` around the object, and no"
        " `kind` (A2A 3.2.3, A.2.1)."
    ),
    "json.lenient": "JSON (RFC 8259).",
    "json.many_payloads": "Exactly one payload in an event (A2A 3.2.3).",
    "json.no_envelope": "`jsonrpc`, `id`, and `result` or `error` (JSON-RPC 2.0 section 5).",
    "json.no_frame": (
        "One of `task`, `message`, `statusUpdate`, `artifactUpdate` around the object"
        " (A2A 3.1.1, 3.2.3)."
    ),
    "json.null_item": "Items of the list's own kind (ProtoJSON).",
    "json.null_list": "A list, or no field at all (A2A 5.7).",
    "json.number": "A number within the range of a double (ProtoJSON).",
    "json.part_legacy": "`text`, `raw`, `url` or `data` in the part itself (A2A 4.1.6, A.2.1).",
    "json.part_split": "One of `text`, `raw`, `url` and `data` in a part (A2A 4.1.6).",
    "json.part_unreadable": "One of `text`, `raw`, `url` and `data`, of its own type (A2A 4.1.6).",
    "json.push_config_legacy": "`id`, `taskId`, `url` and the rest in one object (A2A 4.3.1).",
    "json.role_alias": "`ROLE_USER` or `ROLE_AGENT` (A2A 4.1.5, 5.5).",
    "json.secret_quoted": "Nothing of what authenticated the request (A2A section 7).",
    "json.state_alias": "The state's own name, `TASK_STATE_…` (A2A 4.1.3, 5.5).",
    "json.state_unknown": "One of the states of A2A 1.0 (A2A 4.1.3).",
    "json.task_wrapper": "The bare task, as GetTask and CancelTask answer it (A2A 3.1.3, 3.1.5).",
    "json.timestamp": "`YYYY-MM-DDTHH:mm:ss.sssZ`, in UTC (A2A 5.6.1).",
    "json.too_deep": "Data nested no deeper than protobuf can read, about a hundred levels.",
    "json.wrong_type": "The type that the field has in A2A 1.0 (A2A section 4).",
    "message.echo": "A task, or a message of the agent's own, with `ROLE_AGENT` (A2A 3.1.1, 4.1.5).",
    "message.role": "`ROLE_AGENT` in what the agent says (A2A 4.1.4, 4.1.5).",
    "sse.bom": "No byte order mark: readers may skip one, and many do not (HTML 9.2.6).",
    "sse.cut_event": "Events that are complete, each with a blank line behind it (HTML 9.2.6).",
    "sse.no_payload": "In each event an answer or an error (A2A 3.2.3).",
    "sse.not_json": "JSON in the data of each event (A2A 9.4.2, 11.7).",
    "sse.unfinished_event": "A blank line after the last event too (HTML 9.2.6).",
    "task.id_missing": "The task's id in every task and update (A2A 3.4.2, 4.2).",
}
"""Name of the anomaly, and what belongs there instead, with the section that says so."""

OTHERS: Final[dict[str, str]] = {
    "artifact.append_after_last": "A chunk came after the last one of its artifact; left out.",
    "artifact.over_limit": "The artifacts grew past `standin.result_limit`; what came then is cut.",
    "cancel.unconfirmed": "The end was wanted here, and the agent did not confirm it in time.",
    "context.changed": "An update named another contextId; the first one stays.",
    "push.bare": "A push was a bare object, as A2A 0.3 sent it; it rang all the same.",
    "question.beside_task": (
        "A reply was answered with a message, while its task asks what it asked before."
    ),
    "question.too_large": "A question was too large to be kept whole; it was cut.",
    "reply.refused": "The agent refused a reply, but had gone on by itself meanwhile.",
    "task.earlier": (
        "An answer was a task that had ended, by its own time, before the brief or the reply that it"
        " answers; what it says counts."
    ),
    "timestamp.older": (
        "GetTask kept saying, for as long as `standin.quiet_check`, what bears an older time than"
        " what was known; it counts."
    ),
}
"""What else may stand among an event's anomalies: the core, the stand-in and the push route name
these."""
