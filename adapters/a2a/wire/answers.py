"""One whole answer of an agent: its envelope, the error or the result in it, mended by method (K2, K4).

Decoded JSON in and out; reads no bytes, knows no HTTP but for the status that comes with an answer.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from .parts import mend_text, plain_json
from .repair import Json, mend_frame, mend_task, payload_of, with_known_names

__all__ = ["NOTHING", "NoResultError", "enveloped", "error_in", "mend_answer", "result_in"]

_ERROR_INFO: Final = "google.rpc.ErrorInfo"
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_PROBLEM: Final = re.compile(r"[^a-z0-9]+")


NOTHING: Final = object()
"""Stands for an answer without a body."""


class NoResultError(ValueError):
    """The answer holds nothing that the call could be answered with."""


def error_in(value: Any, *, failed: bool, rpc: bool) -> Json | None:
    """The error in a JSON answer as `{"code", "message", "data"}`; None when there is none.

    `failed` says that the answer is known to be an error (by its HTTP status, or its event's name),
    so that an object without an `error` in it is read as one too: a problem document (RFC 9457),
    a bare error object, or whatever says something. Its texts can be stored: an agent may cut its
    words in the middle of an emoji.
    """
    found = _error_in(value, failed=failed, rpc=rpc)
    return None if found is None else plain_json(found)


def _error_in(value: Any, *, failed: bool, rpc: bool) -> Json | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return {"code": None, "message": str(value), "data": None} if failed and value else None
    error = value.get("error")
    if isinstance(error, dict) and error:
        return _error(error, rpc=rpc)
    if isinstance(error, str) and error and (failed or "result" not in value):
        words = value.get("error_description") or value.get("message") or error
        return {"code": None, "message": str(words), "data": None}
    if not failed:
        return None
    if isinstance(value.get("message"), str) and ("code" in value or "details" in value):
        return _error(value, rpc=rpc)
    said = [value.get(name) for name in ("detail", "title", "message")]
    # A sentence, wherever it is: some, locum among them, have an object for programs as `detail`.
    words = next((one for one in said if one and isinstance(one, str)), None)
    words = words or next(filter(None, said), "")
    code = _problem_reason(value.get("type"))
    return {"code": code, "message": str(words), "data": None if code is None else value}


def _error(error: Json, *, rpc: bool) -> Json:
    data = error.get("data") if rpc else error.get("details", error.get("data"))
    code = error.get("code")
    if isinstance(code, str) and _NUMBER.fullmatch(code):
        code = int(code)
    if isinstance(code, bool) or not isinstance(code, int | str):
        code = None
    reason = _reason(data)
    # A JSON-RPC error is known by its number, a REST one by its reason (A2A section 5.4).
    if not (isinstance(code, int) and code < 0) and reason:
        code = reason
    message = error.get("message")
    return {"code": code, "message": "" if message is None else str(message), "data": data}


def _reason(data: Any) -> str | None:
    for detail in data if isinstance(data, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith(_ERROR_INFO):
            reason = detail.get("reason")
            return reason if isinstance(reason, str) and reason else None
    return None


def _problem_reason(type_: Any) -> str | None:
    """The reason that the `type` of a problem document ends in: `…/task-not-found`."""
    if not isinstance(type_, str) or "/" not in type_:
        return None
    last = _PROBLEM.sub("_", type_.rstrip("/").rpartition("/")[2].lower()).strip("_")
    return last.upper() or None


def result_in(value: Any, *, rpc: bool, odd: list[str]) -> Any:
    """The result in an answer that is no error, with or without its envelope.

    Raises NoResultError when there was no answer, or it is JSON-RPC's but has no result.
    """
    if value is NOTHING:
        raise NoResultError("the answer is empty")
    if isinstance(value, list) and any(isinstance(one, dict) and "jsonrpc" in one for one in value):
        value = _out_of_list(value, odd)
    if not isinstance(value, dict):
        return value
    if "jsonrpc" in value or (rpc and "result" in value):
        if "result" not in value:
            raise NoResultError("the answer has neither a result nor an error")
        if not rpc:
            odd.append("json.foreign_envelope")
        return value["result"]
    if rpc:
        odd.append("json.no_envelope")
    return value


def _out_of_list(value: Any, odd: list[str]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        odd.append("json.batch")
        return value[0]
    return value


def enveloped(result: Any, *, rpc: bool) -> Any:
    """The result as the SDK looks for it. It compares no ids, so none is made up."""
    return {"jsonrpc": "2.0", "id": None, "result": result} if rpc else result


def mend_answer(method: str, result: Any, asked: Json, odd: list[str]) -> Any:
    """The result of `method` as the SDK reads it. `asked` are the request's parameters.

    Raises NoResultError when nothing in it answers the call.
    """
    mend = _MENDERS.get(method)
    return result if mend is None else mend(result, asked, odd)


def _sent(result: Any, asked: Json, odd: list[str]) -> Json:
    """SendMessage: `{"task": …}` or `{"message": …}`."""
    frame = mend_frame(_out_of_list(result, odd), odd)
    if frame is None:
        raise NoResultError("the answer is neither a task nor a message")
    if "task" in frame or "message" in frame:
        return frame
    return {"task": _task_of(frame)}


def _task_of(frame: Json) -> Json:
    """The task that an update tells of, as far as it tells it."""
    ((name, update),) = frame.items()
    task: Json = {"id": update.get("taskId", ""), "contextId": update.get("contextId", "")}
    if name == "statusUpdate" and update.get("status"):
        task["status"] = update["status"]
    if name == "artifactUpdate" and update.get("artifact"):
        task["artifacts"] = [update["artifact"]]
    return task


def _task(result: Any, asked: Json, odd: list[str]) -> Json:
    """GetTask, CancelTask: a bare Task."""
    result = _out_of_list(result, odd)
    if not isinstance(result, dict):
        raise NoResultError("the answer is no task")
    if "id" in result or ("status" in result and "taskId" not in result):
        return mend_task(result, odd)
    found: list[str] = []
    name, payload = payload_of(result, found)
    if name == "task":
        odd.append("json.task_wrapper")
        return mend_task(payload, odd)
    frame = mend_frame(result, odd)
    if frame is None or "message" in frame:
        raise NoResultError("the answer is no task")
    odd.append("json.task_wrapper")
    return _task_of(frame)


def _tasks(result: Any, asked: Json, odd: list[str]) -> Json:
    """ListTasks: a page of Tasks."""
    if result is None or isinstance(result, list):
        odd.append("json.null_list" if result is None else "json.no_frame")
        result = {"tasks": result or []}
    if not isinstance(result, dict):
        raise NoResultError("the answer is no list of tasks")
    page = with_known_names(result)
    tasks = page.get("tasks")
    if tasks is None:
        if "tasks" in page:
            odd.append("json.null_list")
        tasks = []
    if not isinstance(tasks, list):
        raise NoResultError("the answer is no list of tasks")
    page["tasks"] = [mend_task(task, odd) for task in tasks if isinstance(task, dict)]
    if len(page["tasks"]) < len(tasks):
        odd.append("json.null_item")
    token = mend_text(page.pop("nextPageToken", page.pop("next_page_token", None)), odd)
    if token is not None:
        page["nextPageToken"] = token
    for name in ("pageSize", "totalSize", "page_size", "total_size"):
        size = page.get(name)
        if size is not None and (isinstance(size, bool) or not _is_int32(size)):
            odd.append("json.wrong_type")
            del page[name]
    return page


def _is_int32(value: Any) -> bool:
    return isinstance(value, int) and -(2**31) <= value < 2**31


def _created(result: Any, asked: Json, odd: list[str]) -> Json:
    """CreateTaskPushNotificationConfig: the config. An agent that says nothing has taken it."""
    if not isinstance(result, dict) or not result:
        odd.append("http.empty_answer")
        return {name: asked[name] for name in ("id", "taskId", "url") if name in asked}
    return _push_config(result, odd)


def _configs(result: Any, asked: Json, odd: list[str]) -> Json:
    """ListTaskPushNotificationConfigs: a page of configs."""
    if isinstance(result, list):
        odd.append("json.no_frame")
        result = {"configs": result}
    if result is None:
        odd.append("json.null_list")
        result = {}
    if not isinstance(result, dict):
        raise NoResultError("the answer is no list of push configs")
    configs = result.get("configs")
    if configs is None and "configs" in result:
        odd.append("json.null_list")
    if not isinstance(configs, list | None):
        raise NoResultError("the answer is no list of push configs")
    mended = [_push_config(config, odd) for config in configs or () if isinstance(config, dict)]
    page: Json = {"configs": mended}
    token = mend_text(result.get("nextPageToken", result.get("next_page_token")), odd)
    return page if token is None else page | {"nextPageToken": token}


def _push_config(config: Json, odd: list[str]) -> Json:
    """A push config; A2A 0.3 put it inside of another object."""
    inner = config.get("pushNotificationConfig", config.get("push_notification_config"))
    if isinstance(inner, dict):
        odd.append("json.push_config_legacy")
        config = {**inner, "taskId": config.get("taskId", config.get("task_id"))}
    mended: Json = {}
    for name, spelling in (("id", "id"), ("taskId", "task_id"), ("url", "url"), ("token", "token")):
        text = mend_text(config.get(name, config.get(spelling)), odd)
        if text is not None:
            mended[name] = text
    authentication = config.get("authentication")
    if isinstance(authentication, dict):
        schemes = authentication.get("schemes")
        scheme = authentication.get("scheme") or (
            schemes[0] if isinstance(schemes, list) and schemes else None
        )
        mended["authentication"] = {
            name: text
            for name, value in (
                ("scheme", scheme),
                ("credentials", authentication.get("credentials")),
            )
            if (text := mend_text(value, odd)) is not None
        }
    return mended


def _deleted(result: Any, asked: Json, odd: list[str]) -> Json:
    """DeleteTaskPushNotificationConfig: nothing is what there is to say."""
    return {}


def _card(result: Any, asked: Json, odd: list[str]) -> Any:
    """A card: nulls are as good as absent, wherever they stand (case C5)."""
    return _without_nulls(result, odd)


def _without_nulls(value: Any, odd: list[str]) -> Any:
    if isinstance(value, list):
        kept = [_without_nulls(item, odd) for item in value if item is not None]
        if len(kept) < len(value):
            odd.append("json.null_item")
        return kept
    if not isinstance(value, dict):
        return value
    if any(item is None for item in value.values()):
        odd.append("json.null_list")
    # What an extension's `params` and a signature's `header` hold is theirs, nulls included.
    return {
        name: item if name in ("params", "header") else _without_nulls(item, odd)
        for name, item in with_known_names(value).items()
        if item is not None
    }


_MENDERS: Final[dict[str, Callable[[Any, Json, list[str]], Any]]] = {
    "AgentCard": _card,
    "CancelTask": _task,
    "CreateTaskPushNotificationConfig": _created,
    "DeleteTaskPushNotificationConfig": _deleted,
    "GetExtendedAgentCard": _card,
    "GetTask": _task,
    "ListTaskPushNotificationConfigs": _configs,
    "ListTasks": _tasks,
    "SendMessage": _sent,
}
