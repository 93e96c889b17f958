"""What a raw agent saw of one request, read the same in both bindings. Parses, never answers."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from .frames import Binding, Json

__all__ = ["CARD_PATH", "Seen", "read_request"]

CARD_PATH = "/.well-known/agent-card.json"
_HEAD_LIMIT = 1 << 20

_REST: dict[tuple[str, tuple[str, ...]], str] = {
    ("POST", ("message:send",)): "SendMessage",
    ("POST", ("message:stream",)): "SendStreamingMessage",
    ("GET", ("tasks",)): "ListTasks",
    ("GET", ("tasks", "*")): "GetTask",
    ("POST", ("tasks", "*", "pushNotificationConfigs")): "CreateTaskPushNotificationConfig",
    ("GET", ("tasks", "*", "pushNotificationConfigs")): "ListTaskPushNotificationConfigs",
    ("GET", ("tasks", "*", "pushNotificationConfigs", "*")): "GetTaskPushNotificationConfig",
    ("DELETE", ("tasks", "*", "pushNotificationConfigs", "*")): "DeleteTaskPushNotificationConfig",
    ("GET", ("extendedAgentCard",)): "GetExtendedAgentCard",
}


@dataclass(eq=False)
class Seen:
    """One request. `method` is the A2A method's name, "AgentCard" for the card, or ""."""

    number: int
    """Counts the agent's requests from 1."""
    verb: str
    target: str
    """The request target as it was sent: percent signs and query included."""
    headers: dict[str, str]
    """Names in lower case; of a repeated header the values joined by a comma."""
    body: bytes
    at: float
    """Seconds on the event loop's clock."""
    method: str = ""
    rpc_id: Any = None
    params: Json = field(default_factory=dict)
    """The A2A request object, from the JSON-RPC params or put together from path, query, body."""
    tenant: str = ""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the exchange is over: answered, or the client hung up."""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client closed its side before the answer was complete."""

    @property
    def path(self) -> str:
        """The target without its query, still percent-encoded."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """The query, decoded; the last value of a repeated name."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def task_id(self) -> str:
        """The task that the request is about, or ""."""
        message = self.params.get("message")
        named = message.get("taskId") if isinstance(message, dict) else None
        about = named or self.params.get("taskId")
        if not about and self.method in ("GetTask", "CancelTask", "SubscribeToTask"):
            about = self.params.get("id")
        return str(about or "")

    @property
    def message(self) -> Json:
        """The message of a send; empty for other methods."""
        message = self.params.get("message")
        return message if isinstance(message, dict) else {}

    @property
    def text(self) -> str:
        """The text parts of a send, joined by a line break."""
        parts = self.message.get("parts") or []
        return "\n".join(part["text"] for part in parts if "text" in part)

    def understand(self, binding: Binding, base: str) -> None:
        """Fill in `method`, `params`, `rpc_id` and `tenant`; `base` is the interface's path."""
        if self.verb == "GET" and self.path.endswith(CARD_PATH):
            self.method = "AgentCard"
        elif binding == "JSONRPC" and self.path == base and self.verb == "POST":
            self._understand_rpc()
        elif binding == "HTTP+JSON" and self.path.startswith(base + "/"):
            self._understand_rest([unquote(s) for s in self.path[len(base) + 1 :].split("/")])

    def _json(self) -> Json:
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def _understand_rpc(self) -> None:
        call = self._json()
        params = call.get("params")
        self.method = str(call.get("method", ""))
        self.rpc_id = call.get("id")
        self.params = params if isinstance(params, dict) else {}
        self.tenant = str(self.params.get("tenant", ""))

    def _understand_rest(self, segments: list[str]) -> None:
        for skip in (0, 1):
            if self._route(segments[skip:]):
                self.tenant = segments[0] if skip else ""
                return

    def _route(self, segments: list[str]) -> bool:
        verb_of: str = ""
        if len(segments) == 2 and segments[0] == "tasks":
            name, _, verb_of = segments[1].rpartition(":")
            if verb_of == "cancel" and self.verb == "POST":
                self.method, self.params = "CancelTask", self._json() | {"id": name}
                return True
            if verb_of == "subscribe":
                self.method, self.params = "SubscribeToTask", {"id": name}
                return True
        pattern = tuple("*" if i % 2 else s for i, s in enumerate(segments))
        method = _REST.get((self.verb, pattern))
        if method is None:
            return False
        self.method = method
        self.params = self.query | self._json()
        ids = segments[1::2]
        if method == "GetTask":
            self.params["id"] = ids[0]
        elif ids:
            self.params["taskId"] = ids[0]
            self.params |= {"id": ids[1]} if len(ids) > 1 else {}
        return True


async def read_request(reader: asyncio.StreamReader, number: int, lead: bytes = b"") -> Seen | None:
    """The next request on a connection, or None when the client has closed it.

    `lead` is what was already taken off the reader. A request that breaks off is None, too.
    """
    head = lead
    try:
        while b"\r\n\r\n" not in head:
            more = await reader.read(65536)
            if not more:
                return None
            head += more
            if len(head) > _HEAD_LIMIT:
                raise ValueError("a request head of more than 1 MiB")
        head, _, rest = head.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        verb, target, _ = lines[0].split(" ", 2)
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        body = await _read_body(reader, headers, rest)
    except (ConnectionError, asyncio.IncompleteReadError):
        return None
    at = asyncio.get_running_loop().time()
    return Seen(number, verb, target, headers, body, at)


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str], rest: bytes) -> bytes:
    if "chunked" not in headers.get("transfer-encoding", "").lower():
        wanted = int(headers.get("content-length", "0"))
        return rest + await reader.readexactly(max(0, wanted - len(rest)))
    body = b""
    while True:
        while b"\r\n" not in rest:
            rest += await reader.readexactly(1)
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        rest += await reader.readexactly(max(0, length + 2 - len(rest)))
        body, rest = body + rest[:length], rest[length + 2 :]
        if length == 0:
            return body
