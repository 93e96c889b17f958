"""Readers of the feed who are gone before the first byte of it (D11)."""

from typing import Any

from .front import front

SCOPE = {
    "type": "http",
    "http_version": "1.1",
    "method": "GET",
    "scheme": "http",
    "path": "/v1/parents/p/notifications/stream",
    "raw_path": b"/v1/parents/p/notifications/stream",
    "root_path": "",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1")],
    "client": ("127.0.0.1", 1),
}


async def test_a_reader_that_has_gone_is_no_error() -> None:
    """D11: the stream ends at once and quietly for a client that hung up before it began."""
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    async with front() as face:
        await face.app(dict(SCOPE), receive, send)
    assert sent[0] == "http.response.start"
