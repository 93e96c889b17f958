"""What a raw agent says of its own accord: a small task model, in the frames of A2A. No sockets."""

import asyncio
from collections.abc import Callable

from .frames import EOF, ERR, A, Frame, Json, S, T
from .reply import Reply
from .seen import Seen

__all__ = ["TERMINAL", "TaskModel"]

TERMINAL = frozenset(
    f"TASK_STATE_{state}" for state in ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
)
_SETTLED = TERMINAL | {"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"}


class TaskModel:
    """Tasks `t1`, `t2`, … in contexts `c1`, `c2`, …, and the answers to every A2A method.

    `t1` is there from the start, WORKING, so that a test with a scripted send can already say
    what GetTask answers. The first send that is answered here is given `t1`.
    """

    def __init__(self) -> None:
        self.tasks: dict[str, Frame] = {}
        self.push_configs: list[Json] = []
        self._given = 0
        self._streams: list[tuple[str, asyncio.Queue[Frame]]] = []
        self.task = T("WORKING")

    @property
    def task(self) -> Frame:
        """The task `t1`; assign another snapshot to change what GetTask answers."""
        return self.tasks["t1"]

    @task.setter
    def task(self, task: Frame) -> None:
        self.put(task)

    def put(self, task: Frame) -> None:
        """Make `task` what GetTask answers for its id. Streams are not told."""
        self.tasks[str(task.get("id"))] = task.stamped()

    def tell(self, frame: Frame) -> None:
        """Apply an update, or a whole snapshot, to its task and put it on the task's streams.

        Streams that were answered by a scripted handler hear nothing of it.
        """
        frame.stamped()
        task_id = str(frame.get("taskId") or frame.get("id"))
        if frame.name == "task":
            self.put(frame)
        elif frame.name == "statusUpdate":
            self.tasks[task_id]["status"] = frame["status"]
        elif frame.name == "artifactUpdate":
            self._add_artifact(self.tasks[task_id], frame)
        for watched, queue in self._streams:
            if watched == task_id:
                queue.put_nowait(frame)

    def _add_artifact(self, task: Frame, frame: Frame) -> None:
        artifact = frame["artifact"]
        known = task.setdefault("artifacts", [])
        for place, other in enumerate(known):
            if other.get("artifactId") == artifact["artifactId"]:
                if frame.get("append"):
                    parts = [*other.get("parts", []), *artifact["parts"]]
                    known[place] = other | {"parts": parts}
                else:
                    known[place] = artifact
                return
        known.append(artifact)

    def complete(self, text: str = "done", *, task: str = "t1", artifact: str = "a1") -> None:
        """Tell an artifact with `text`, then COMPLETED."""
        context = str(self.tasks[task]["contextId"])
        self.tell(A(artifact, text, task=task, context=context))
        self.tell(S("COMPLETED", task=task, context=context))

    def take(self, message: Json) -> Frame:
        """The task that a message starts or goes on with: it is WORKING and has the message."""
        task_id = str(message.get("taskId") or "")
        if task_id:
            task = self.tasks[task_id]
            task["status"] = T("WORKING").stamped()["status"]
        else:
            self._given += 1
            task_id = f"t{self._given}"
            context = str(message.get("contextId") or f"c{self._given}")
            if self._given > 1 or context != "c1":
                self.put(T("WORKING", id=task_id, context=context))
            task = self.tasks[task_id]
        task.setdefault("history", []).append(
            message | {"taskId": task_id, "contextId": task["contextId"]}
        )
        return task

    # One answer for each A2A method

    async def answer(self, seen: Seen, reply: Reply) -> None:
        """The model's own answer to a request."""
        answers: dict[str, Callable[[Seen, Reply], object]] = {
            "GetTask": self._get,
            "ListTasks": self._list,
            "CancelTask": self._cancel,
            "CreateTaskPushNotificationConfig": self._create_config,
            "GetTaskPushNotificationConfig": self._get_config,
            "ListTaskPushNotificationConfigs": self._list_configs,
            "DeleteTaskPushNotificationConfig": self._delete_config,
        }
        if seen.task_id and seen.task_id not in self.tasks:
            await reply.play([ERR(-32001, "Task not found")])
        elif seen.method in ("SendMessage", "SendStreamingMessage"):
            await self._send(seen, reply)
        elif seen.method == "SubscribeToTask":
            await self._subscribe(seen, reply)
        elif seen.method in answers:
            await reply.play([answers[seen.method](seen, reply)])
        else:
            await reply.play([ERR(-32601, "Method not found")])

    async def _send(self, seen: Seen, reply: Reply) -> None:
        task = self.take(seen.message)
        config = seen.params.get("configuration") or {}
        inline = config.get("taskPushNotificationConfig")
        if inline:
            self._store(inline | {"taskId": task["id"]})
        if seen.method == "SendStreamingMessage":
            await self._stream(task, reply)
        else:
            await reply.json(task)

    async def _subscribe(self, seen: Seen, reply: Reply) -> None:
        task = self.tasks[seen.task_id]
        if task["status"]["state"] in TERMINAL:
            await reply.play([ERR(-32004, "The task is over")])
        else:
            await self._stream(task, reply)

    async def _stream(self, task: Frame, reply: Reply) -> None:
        """The snapshot, then what is told, until the task has settled (over: until it ends)."""
        queue: asyncio.Queue[Frame] = asyncio.Queue()
        stream = (str(task["id"]), queue)
        self._streams.append(stream)
        ends = TERMINAL if reply.seen.method == "SubscribeToTask" else _SETTLED
        try:
            await reply.event(task)
            state = task["status"]["state"]
            while state not in ends:
                frame = await reply.race(queue.get())
                await reply.event(frame)
                state = frame.get("status", {}).get("state", state)
            await reply.play([EOF])
        finally:
            self._streams.remove(stream)

    def _get(self, seen: Seen, reply: Reply) -> Frame:
        return self.tasks[seen.task_id]

    def _list(self, seen: Seen, reply: Reply) -> Json:
        context = seen.params.get("contextId")
        tasks = [dict(t) for t in self.tasks.values() if not context or t["contextId"] == context]
        if str(seen.params.get("includeArtifacts", "")).lower() != "true":
            for task in tasks:
                task.pop("artifacts", None)
        return {
            "tasks": tasks,
            "nextPageToken": "",
            "pageSize": len(tasks),
            "totalSize": len(tasks),
        }

    def _cancel(self, seen: Seen, reply: Reply) -> Frame | ERR:
        task = self.tasks[seen.task_id]
        if task["status"]["state"] in TERMINAL:
            return ERR(-32002, "The task is over")
        self.tell(S("CANCELED", task=str(task["id"]), context=str(task["contextId"])))
        return task

    def _store(self, config: Json) -> Json:
        config = config | {"id": config.get("id") or config["taskId"]}
        key = (config["taskId"], config["id"])
        self.push_configs = [c for c in self.push_configs if (c["taskId"], c["id"]) != key]
        self.push_configs.append(config)
        return config

    def _create_config(self, seen: Seen, reply: Reply) -> Json:
        return self._store(seen.params)

    def _get_config(self, seen: Seen, reply: Reply) -> Json | ERR:
        for config in self._of(seen):
            if config["id"] == seen.params["id"]:
                return config
        return ERR(-32001, "No such config")

    def _list_configs(self, seen: Seen, reply: Reply) -> Json:
        return {"configs": self._of(seen)}

    def _of(self, seen: Seen) -> list[Json]:
        return [c for c in self.push_configs if c["taskId"] == seen.params["taskId"]]

    def _delete_config(self, seen: Seen, reply: Reply) -> Json | None:
        gone = (seen.params["taskId"], seen.params["id"])
        self.push_configs = [c for c in self.push_configs if (c["taskId"], c["id"]) != gone]
        return None if reply.binding == "JSONRPC" else {}
