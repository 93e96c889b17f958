"""Records what a lawful agent is asked and answers questions about it at `/control`. ASGI only."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from a2a.server.tasks import PushNotificationConfigStore
from google.protobuf.json_format import MessageToDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .card import BASE_PATH
from .performer import Gates
from .seen import Seen

__all__ = ["Guard", "Observer"]


class Observer:
    """ASGI middleware that keeps every A2A request, and the routes that tell of them."""

    def __init__(self, app: ASGIApp, gates: Gates, configs: PushNotificationConfigStore) -> None:
        self._app = app
        self._gates = gates
        self._configs = configs
        self._records: list[dict[str, Any]] = []
        self._streams = 0
        self._changed = gates.changed
        self._control = {
            ("GET", "/control/requests"): self._tell_requests,
            ("GET", "/control/open-streams"): self._tell_streams,
            ("GET", "/control/push-configs"): self._tell_configs,
            ("POST", "/control/release"): self._release,
            ("POST", "/control/wait"): self._wait,
            ("POST", "/control/forget"): self._forget,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve `/control` itself, note everything else and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"].startswith("/control/"):
            request = Request(scope, receive)
            answer = self._control.get((request.method, request.url.path))
            response = await answer(request) if answer else Response(status_code=404)
            await response(scope, receive, send)
        else:
            await self._observe(scope, receive, send)

    async def _observe(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        record = _record(scope, body, len(self._records) + 1)
        self._records.append(record)
        self._changed.set()
        replayed = False
        streaming = False

        async def receive_again() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send_noted(message: Message) -> None:
            nonlocal streaming
            if message["type"] == "http.response.start":
                record["status"] = message["status"]
                self._changed.set()
                kinds = [v for k, v in message["headers"] if k.lower() == b"content-type"]
                if kinds and kinds[0].startswith(b"text/event-stream"):
                    streaming = True
                    self._streams += 1
            await send(message)

        try:
            await self._app(scope, receive_again, send_noted)
        finally:
            if streaming:
                self._streams -= 1
                self._changed.set()

    # The control endpoint

    async def _tell_requests(self, request: Request) -> Response:
        method = request.query_params.get("method", "")
        return JSONResponse({"requests": self._of(method)})

    async def _tell_streams(self, request: Request) -> Response:
        return JSONResponse({"open": self._streams})

    async def _tell_configs(self, request: Request) -> Response:
        configs = await self._configs.get_info_for_dispatch(request.query_params["task"])
        return JSONResponse({"configs": [MessageToDict(config) for config in configs]})

    async def _release(self, request: Request) -> Response:
        self._gates.release((await request.json())["name"])
        return JSONResponse({"released": True})

    async def _forget(self, request: Request) -> Response:
        self._records.clear()
        self._gates.close()
        return JSONResponse({"forgotten": True})

    async def _wait(self, request: Request) -> Response:
        """Wait for `what` (see `reached`); 408 when the time is up."""
        wanted = await request.json()
        count = int(wanted.get("count", 1))
        reached: dict[str, Callable[[], bool]] = {
            "request": lambda: len(self._of(wanted.get("method", ""))) >= count,
            "open-streams": lambda: self._streams == count,
            "gate": lambda: self._gates.waiting[wanted["name"]] >= count,
            "push-config": lambda: self._took_config(wanted["task"]),
        }
        true = reached[wanted["what"]]
        try:
            async with asyncio.timeout(float(wanted.get("timeout", 5))):
                while not true():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            told = {"reached": False, "requests": self._of(""), "open": self._streams}
            return JSONResponse(told, status_code=408)
        return JSONResponse({"reached": True, "requests": self._of(wanted.get("method", ""))})

    def _took_config(self, task_id: str) -> bool:
        creating = self._of("CreateTaskPushNotificationConfig")
        return any(one["task_id"] == task_id and one["status"] == 200 for one in creating)

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [one for one in self._records if not method or one["method"] == method]


def _record(scope: Scope, body: bytes, number: int) -> dict[str, Any]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    target = scope["raw_path"].decode("latin-1").partition("?")[0]
    query = scope["query_string"].decode("latin-1")
    seen = Seen(number, scope["method"], f"{target}?{query}", headers, body, time.time())
    for binding, base in BASE_PATH.items():
        if not seen.method:
            seen.understand(binding, base)
    try:
        parsed = json.loads(body) if body else None
    except ValueError:
        parsed = None
    return {
        "number": number,
        "at": seen.at,
        "verb": seen.verb,
        "path": seen.path,
        "query": query,
        "method": seen.method,
        "headers": headers,
        "body": parsed,
        "params": seen.params,
        "task_id": seen.task_id,
        "status": None,
    }


class Guard:
    """ASGI middleware that asks for a bearer token, at the card too when `card` is true."""

    def __init__(self, app: ASGIApp, token: str, *, card: bool) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._card = card

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what has the token; 401 for everything else."""
        is_card = scope["type"] == "http" and "/.well-known/" in scope["path"]
        free = scope["type"] != "http" or (is_card and not self._card)
        given = dict(scope.get("headers", [])).get(b"authorization")
        if free or given == self._expected:
            await self._app(scope, receive, send)
        else:
            asks = {"WWW-Authenticate": 'Bearer realm="lawful"'}
            response = JSONResponse({"error": "unauthorized"}, status_code=401, headers=asks)
            await response(scope, receive, send)
