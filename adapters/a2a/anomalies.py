"""Every oddity of an agent's answers that the wire mends, by name, and what it means. Only a table.

The names end up in the events that an odd answer led to (K2, H1) and are listed for people, so a
name once given stays.
"""

from typing import Final

__all__ = ["ANOMALIES"]

ANOMALIES: Final[dict[str, str]] = {
    "http.content_encoding": "The answer was compressed although no compression was asked for.",
    "http.content_type": "The content type was missing, or the body was of another kind.",
    "http.empty_answer": "The call succeeded with no content where a result belongs.",
    "http.json_for_stream": "A call that asks for a stream was answered with one JSON body.",
    "http.stream_for_call": "A call that asks for one answer was answered with a stream.",
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
    "json.state_alias": "A state was written otherwise than in A2A 1.0 and was read as meant.",
    "json.state_unknown": "A state that A2A 1.0 does not know was read as unspecified.",
    "json.task_wrapper": "A task inside a wrapper, where a bare one belongs, was taken out of it.",
    "json.timestamp": "A timestamp that cannot be read was left out.",
    "json.too_deep": "Data was nested too deep to be read and was cut there.",
    "json.wrong_type": "A field of the wrong type was turned into the right one, or left out.",
    "sse.bom": "A byte order mark stood before the first event.",
    "sse.cut_event": "The stream ended in the middle of an event, which was left out.",
    "sse.no_payload": "An event held JSON that is neither an answer nor an error; it was skipped.",
    "sse.not_json": "An event held no JSON and was skipped.",
    "sse.unfinished_event": "The last event had no blank line after it and was taken all the same.",
    "task.id_missing": "A task or an update named no task; it was taken for the one asked about.",
}
"""Name of the anomaly, and one sentence on what was met and what was made of it."""
