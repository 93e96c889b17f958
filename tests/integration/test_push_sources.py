"""Whose refused pushes are counted together: those of one sender, and no other's (D5)."""

import httpx

from locum.adapters import Harness, Settings
from locum.adapters.web.app import build_app

LIMIT = 3


async def test_one_sender_does_not_use_up_anothers() -> None:
    """D5: past the limit one source is answered 429; another is answered as ever, also from the next
    port of its address.
    """
    settings = Settings.from_mapping(
        {"store": {"url": "sqlite:///:memory:"}, "limits": {"push_refusals": LIMIT}}
    )
    async with Harness(settings) as harness:
        app = build_app(harness)

        async def push(address: str, port: int) -> int:
            # A socket has one address of this machine: where a push comes from is handed in here.
            way = httpx.ASGITransport(app=app, client=(address, port))
            async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1") as http:
                answer = await http.post("/a2a/push/st-none", json={"task": {"id": "t1"}})
                return answer.status_code

        loud = [await push("192.0.2.1", 1000 + turn) for turn in range(LIMIT + 1)]
        assert loud == [401] * LIMIT + [429]
        assert await push("192.0.2.2", 1000) == 401
        assert await push("192.0.2.1", 1000) == 429
