"""An agent that writes the push token it was given into everything it says (case P10)."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from locum.adapters.demo.processes import free_port
from tests.agents.frames import EOF, ERR, EV, A, S, T, data_part, text_part
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

pytestmark = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
CREATE = "CreateTaskPushNotificationConfig"
DELETE = "DeleteTaskPushNotificationConfig"


def _is_known(digest: str, tokens: list[str]) -> bool:
    return digest in {hashlib.sha256(token.encode()).hexdigest() for token in tokens}


async def test_it_is_in_no_event_row_note_or_log(
    binding: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """D2, case P10: quoted in questions, texts, data, artifacts and errors, also after a restart."""
    caplog.set_level("DEBUG")
    store = tmp_path / "locum.db"
    options: dict[str, Any] = {"store": f"sqlite:///{store}", "push": True, "port": free_port()}
    tokens: list[str] = []
    async with RawAgent(binding, push=True) as agent:

        def quoted() -> str:
            tokens.extend(config["token"] for config in agent.push_configs)
            return f"I was given {tokens[-1]}, and before that {tokens[0]}"

        async with locum({"a": agent.url}, **options) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask")
            agent.tell(S("INPUT_REQUIRED", "which?"))
            await agent.seen(CREATE)
            await agent.seen("GetTask")
            # Another question, heard by a push, and the answer to it in a stream.
            agent.put(T("INPUT_REQUIRED", [text_part(quoted()), data_part({"headers": quoted()})]))
            assert (await agent.push()).status == 204
            await agent.seen(CREATE, count=2)
            agent.on("SendStreamingMessage", [EV(T("WORKING", quoted())), EOF])
            await harness.reply(row.id, "the red ones")
            row = await until(harness, row.id, "WORKING")
            await agent.seen("SubscribeToTask", count=2)
            agent.tell(S("WORKING", quoted()))
            agent.tell(A("a", text_part(quoted()), data_part([{quoted(): quoted()}])))
        # A restart knows the digests only.
        agent.on("SubscribeToTask", ERR(-32603, quoted()))
        agent.on("GetTask", ERR(-32603, quoted()), ERR(-32603, quoted(), data=[quoted()]))
        async with locum({"a": agent.url}, **options) as harness:
            await agent.seen("GetTask", count=5)
            agent.on("GetTask")
            agent.on(DELETE, ERR(-32602, f"cannot delete what has {quoted()}"))
            agent.put(T("COMPLETED", quoted(), artifacts=[A("a", f"12, says {quoted()}")]))
            row = await until(harness, row.id, "COMPLETED")
            with harness.changes(row.id) as changed:
                while (events := await harness.events(row.id))[-1]["type"] != "PushRevoked":
                    await changed.wait()
                    changed.clear()
            notes, _ = await harness.notes("p")
            told = "\n".join(map(repr, [row, *events, *notes]))
    assert "I was given ****, and before that ****" in told
    assert "json.secret_quoted" in row.anomalies
    assert len(set(tokens)) == 2
    assert all(
        _is_known(event["watch"]["token_digest"], tokens) for event in events if "watch" in event
    )
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for token in tokens:
        assert token not in told
        assert token not in caplog.text
        assert token.encode() not in kept
