"""The cases of push (docs/cases.md): a doorbell, whatever is said at the door."""

import asyncio
import logging
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from locum.projections import row_to_json
from tests.agents.frames import EOF, ERR, EV, HOLD, RST, WAIT, A, M, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"


def _parks(agent: RawAgent) -> None:
    """The agent takes the brief and parks at once; its pushes are what is heard next."""
    agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), EOF])
    agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)


def _token(agent: RawAgent) -> str:
    return str(agent.push_configs[-1]["token"])


async def _parked(harness: Any, agent: RawAgent) -> str:
    """A sub-task that is parked, its push config registered and its first look taken."""
    row = await harness.spawn("p", agent="a", goal="count")
    await harness.settled(row.id, timeout=10)
    await agent.seen("CreateTaskPushNotificationConfig", timeout=5)
    await agent.seen("GetTask", timeout=5)
    return str(row.id)


@both
@pytest.mark.parametrize("kind", ["task", "message", "status", "artifact", "bare"])
async def test_every_kind_of_push_rings(binding: Any, kind: str) -> None:
    """D3, case P1, case P2: a push of any kind leads to GetTask, and nothing of its body is
    applied.
    """
    lie = {
        "task": T("FAILED", "a lie", ts=LATEST),
        "message": M("a lie", task="t1"),
        "status": {"statusUpdate": {**S("FAILED", "a lie", ts=LATEST), "final": True}},
        "artifact": A("a", "a lie"),
        "bare": dict(T("FAILED", "a lie", ts=LATEST)),
    }[kind]
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            before = len(agent.calls("GetTask"))
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            answer = await agent.push(lie, token=_token(agent))
            assert answer.status == 204
            row = await until(harness, sub_task_id, "COMPLETED")
            assert row.text == "done"
            assert len(agent.calls("GetTask")) == before + 1
            (end,) = [e for e in await harness.events(sub_task_id) if e["type"] == "Resolved"]
            assert end["cause"] == "push"
            assert ("push.bare" in row.anomalies) is (kind == "bare")


@both
async def test_gettask_that_lags_behind_a_push(binding: Any) -> None:
    """D4: while GetTask does not show what was pushed it is asked thrice more, after the pauses."""
    pauses = (0.05, 0.1, 0.2)
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            before = len(agent.calls("GetTask"))
            late = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            agent.on("GetTask", *[agent.task] * len(pauses), late)
            await agent.push(S("COMPLETED", ts=LATEST), token=_token(agent))
            assert (await until(harness, sub_task_id, "COMPLETED")).text == "done"
            looks = agent.calls("GetTask")[before:]
            assert len(looks) == 1 + len(pauses)
            # Not how fast it is: that it gives the agent this much time is the rule.
            for pause, (one, next_one) in zip(pauses, pairwise(looks), strict=True):
                assert next_one.at - one.at >= pause


@both
async def test_an_agent_that_never_pushes(binding: Any) -> None:
    """D8, case P3: a registration that was taken and never used: the backstop finds the end."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum(
            {"a": agent.url}, push=True, standin={"push_backstop": "500ms"}
        ) as harness:
            sub_task_id = await _parked(harness, agent)
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            row = await until(harness, sub_task_id, "COMPLETED")
            assert row.text == "done"
            (end,) = [e for e in await harness.events(sub_task_id) if e["type"] == "Resolved"]
            assert end["cause"] == "recheck"


@both
async def test_a_watch_is_made_again_after_a_crash(binding: Any, tmp_path: Path) -> None:
    """I1, case P4: an agent that took a config and lists none: after a restart the watch is made
    again.
    """
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True, store=store) as harness:
            sub_task_id = await _parked(harness, agent)
            first = _token(agent)
        agent.push_configs.clear()
        async with locum({"a": agent.url}, push=True, store=store) as harness:
            await agent.seen("CreateTaskPushNotificationConfig", count=2, timeout=10)
            assert _token(agent) != first
            parked = [e for e in await harness.events(sub_task_id) if e["type"] == "Parked"]
            assert len({e["question"] for e in parked}) == 1
            assert len({e["watch"]["token_digest"] for e in parked}) == 2
            notes, _ = await harness.notes("p")
            assert len(notes) == 1


@both
async def test_a_watch_that_stands_is_kept(binding: Any, tmp_path: Path) -> None:
    """I1: after a restart a push config that the agent still lists is kept, and the task fetched."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True, store=store) as harness:
            sub_task_id = await _parked(harness, agent)
            port = int(harness.settings.server.base_url.rpartition(":")[2])
        before = len(agent.calls("GetTask"))
        async with locum({"a": agent.url}, push=True, port=port, store=store) as harness:
            await agent.seen("GetTask", count=before + 1, timeout=10)
            assert len(agent.calls("CreateTaskPushNotificationConfig")) == 1
            assert await kinds(harness, sub_task_id) == ["Created", "Linked", "Parked"]


@both
async def test_a_registration_in_doubt_leaves_nothing(binding: Any) -> None:
    """F1: the agent took the config and did not say so: the task is followed, and the config gone."""

    async def create(seen: Seen, reply: Reply) -> None:
        agent.push_configs.append(dict(seen.params))
        await reply.play([RST])

    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        agent.on("CreateTaskPushNotificationConfig", create)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            assert not agent.push_configs
            revoked = [e for e in await harness.events(row.id) if e["type"] == "PushRevoked"]
            assert [e["outcome"] for e in revoked] == ["refused"]
            assert (await harness.sub_task(row.id)).watch == "follow"


@both
async def test_a_watch_elsewhere_is_made_again(binding: Any, tmp_path: Path) -> None:
    """I1: a config with another URL than ours is now would ring nobody: the watch is made anew."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True, store=store) as harness:
            await _parked(harness, agent)
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = int(other.getsockname()[1])
        async with locum({"a": agent.url}, push=True, port=port, store=store) as harness:
            await agent.seen("CreateTaskPushNotificationConfig", count=2, timeout=10)
            await agent.until(lambda: f":{port}/" in agent.push_configs[-1]["url"])
            assert len(agent.push_configs) == 1


@both
async def test_a_push_before_the_link(binding: Any) -> None:
    """D5, case P5: a push before the send has answered is refused; the state is heard all the same."""
    gate = asyncio.Event()
    async with RawAgent(binding, push=True) as agent:
        agent.on("SendStreamingMessage", [gate, EV(T("INPUT_REQUIRED", "which?", ts=LATER)), EOF])
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage", timeout=5)
            url = f"{harness.settings.server.base_url}/a2a/push/{row.id}"
            answer = await agent.push(T("INPUT_REQUIRED"), token="guess", url=url)
            assert answer.status == 401
            gate.set()
            row = await harness.settled(row.id, timeout=5)
            assert row.text == "which?"


@both
async def test_the_same_push_five_times(binding: Any) -> None:
    """D14, case P6: five pushes of one change, and an older one after the end, are one change."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            token, url = _token(agent), str(agent.push_configs[-1]["url"])
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            for _ in range(5):
                await agent.push(S("COMPLETED", ts=LATEST), token=token, url=url)
            await until(harness, sub_task_id, "COMPLETED")
            await agent.push(S("WORKING", ts=LATER), token=token, url=url)
            await agent.seen("DeleteTaskPushNotificationConfig", timeout=5)
            found = await kinds(harness, sub_task_id)
            assert found.count("Resolved") == 1
            assert "Woken" not in found


@both
async def test_a_push_after_the_end(binding: Any) -> None:
    """F1, case P7: from the end on, the right token is answered like a wrong one; the config is
    gone.
    """
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            token, url = _token(agent), str(agent.push_configs[-1]["url"])
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            await agent.push(S("COMPLETED", ts=LATEST), token=token)
            await until(harness, sub_task_id, "COMPLETED")
            right = await agent.push(S("COMPLETED"), token=token, url=url)
            wrong = await agent.push(S("COMPLETED"), token="x" * 43, url=url)
            assert (right.status, right.body) == (wrong.status, wrong.body)
            assert right.status == 401
            await agent.seen("DeleteTaskPushNotificationConfig", timeout=5)
            await agent.until(lambda: not agent.push_configs, timeout=5)
            async with asyncio.timeout(5):
                with harness.changes(sub_task_id) as changed:
                    while (await kinds(harness, sub_task_id))[-1] != "PushRevoked":
                        await changed.wait()
                        changed.clear()
            assert (await harness.events(sub_task_id))[-1]["outcome"] == "deleted"


@both
@pytest.mark.parametrize(
    "content_type", ["application/a2a+json", "application/json; charset=utf-8", None]
)
async def test_content_types_of_a_push(binding: Any, content_type: str | None) -> None:
    """D3, case P8: a push is taken under any of the content types that agents send."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            answer = await agent.push(
                S("COMPLETED", ts=LATEST), token=_token(agent), content_type=content_type
            )
            assert answer.status == 204
            await until(harness, sub_task_id, "COMPLETED")


@both
@pytest.mark.parametrize("failure", ["refused", "broken", "silent"])
async def test_a_registration_that_fails(binding: Any, failure: str) -> None:
    """D2, case P9: a registration that is refused, fails or hangs becomes a follow; nobody is told."""
    answer: Any = {
        "refused": ERR(-32003, "no push here"),
        "broken": (500, {}, b"oops"),
        "silent": [WAIT(30)],
    }[failure]
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        agent.on("CreateTaskPushNotificationConfig", answer)
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), HOLD])
        async with locum({"a": agent.url}, push=True, limits={"call_timeout": "500ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=10)
            assert await kinds(harness, row.id) == ["Created", "Linked", "Parked", "PushRevoked"]
            assert (await harness.events(row.id))[-1]["outcome"] == "refused"
            assert (await harness.sub_task(row.id)).watch == "follow"
            notes, _ = await harness.notes("p")
            assert [note.kind for note in notes] == ["question"]


@both
async def test_the_token_is_nowhere(
    binding: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """D2, case P10: the token is in no store file, log, row, event or answer; only its digest is
    kept.
    """
    store = tmp_path / "locum.db"
    caplog.set_level(logging.DEBUG)
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True, store=f"sqlite:///{store}") as harness:
            sub_task_id = await _parked(harness, agent)
            token = _token(agent)
            assert len(token) >= 43
            assert agent.push_configs[-1]["authentication"]["credentials"] == token
            refused = await agent.push(S("COMPLETED"), token=token + "x")
            assert token not in refused.body.decode()
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            await agent.push(S("COMPLETED", ts=LATEST), token=token)
            row = await until(harness, sub_task_id, "COMPLETED")
            kept = repr(row_to_json(row)) + repr(await harness.events(sub_task_id))
            kept += repr(harness.agents())
    kept += caplog.text
    for file in tmp_path.iterdir():
        kept += file.read_bytes().decode("latin-1")
    assert token not in kept
