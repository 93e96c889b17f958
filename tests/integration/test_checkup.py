"""The check of an agent: what A2A 1.0 has otherwise is found, and nothing is left behind."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from locum.adapters.a2a.checkup.examination import MESSAGE, Patience
from locum.adapters.a2a.wire.anomalies import ANOMALIES, EXPECTED

from ..agents.frames import CUT, EOF, ERR, EV, HOLD, RST, A, M, S, T
from ..agents.process import LawfulAgent, lawful_agent
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen
from .checking import checked, codes, outcomes

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"
SUBSCRIBE = "SubscribeToTask"
CREATE = "CreateTaskPushNotificationConfig"
LIST = "ListTaskPushNotificationConfigs"
DELETE = "DeleteTaskPushNotificationConfig"
STAMP = "2026-01-02T03:04:05Z"
JSON_TYPE = {"content-type": "application/json"}


@both
@pytest.mark.parametrize(
    "text",
    [
        MESSAGE,
        '[[ work "looking"; artifact a "one"; append a " two" last; complete ]]',
        '[[ message "hello" ]]',
        '[[ work; ask "which?" ]]',
        '[[ auth "who are you?" until never ]]',
        '[[ work; artifact a "one" last; hang ]]',
        '[[ fail "cannot" ]]',
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_lawful_agent_is_clean(binding: Any, text: str, agent: LawfulAgent) -> None:
    """K2: with a2a-sdk's own server there is nothing to find, whatever becomes of the task."""
    await agent.forget()
    checkup = await checked(agent.url, text=text, bindings=(binding,))
    assert checkup.interface is not None
    assert checkup.interface.binding == binding
    assert (checkup.ok, codes(checkup), checkup.refusals) == (True, set(), [])
    assert set(outcomes(checkup).values()) <= {"ok", "left_out"}
    assert checkup.left_behind == []
    await agent.wait_streams(0)
    sent = [seen["params"] for seen in await agent.requests(SEND)]
    assert [one["message"]["parts"] for one in sent] == [[{"text": text}]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent() -> AsyncIterator[LawfulAgent]:
    """One for the whole module, in both bindings: a start takes seconds."""
    async with lawful_agent(binding="both") as running:
        yield running


def _about_t1(agent: RawAgent, answer: Any) -> Any:
    """Answers about t1 with `answer`, about others as the model does."""

    async def handler(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            await reply.play([answer])
        else:
            await agent.answer(seen, reply)

    return handler


def _kind(frame: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "status-update", "final": False, **frame}


def _less(frame: Any, *names: str) -> Any:
    """The frame without some of its fields."""
    for name in names:
        del frame[name]
    return frame


SAID: dict[str, tuple[list[Any], set[str]]] = {
    "a flat event": (
        [EV(T("WORKING")), EV(_kind(S("WORKING", ts=STAMP))), HOLD],
        {"json.kind_frame"},
    ),
    "an alias": ([EV(T("working")), HOLD], {"json.state_alias"}),
    "a mark": ([b"\xef\xbb\xbf", EV(T("WORKING")), HOLD], {"sse.bom"}),
    "a bad time": ([EV(T("WORKING", ts="yesterday")), HOLD], {"json.timestamp"}),
    "a null": (
        [EV({"task": T("WORKING", ts=STAMP) | {"artifacts": None}}), HOLD],
        {"json.null_list"},
    ),
    "an update first": ([EV(S("WORKING")), HOLD], {"stream.first_event"}),
    "an early end": ([EV(T("WORKING")), EOF], {"stream.early_end"}),
    "a cut": ([EV(T("WORKING")), CUT], {"remote.reset"}),
    "no end": ([EV(T("WORKING")), EV(S("COMPLETED")), HOLD], {"stream.not_closed"}),
    "no end of a message": ([EV(M("hello", context="c9")), HOLD], {"stream.not_closed"}),
    "nothing": ([b"", EOF], {"remote.empty"}),
    "no answer": ([RST], {"remote.reset"}),
    "JSON": ([T("WORKING")], {"http.json_for_stream"}),
    "an error event": ([EV(T("WORKING")), EV(ERR(-32603, "oops")), EOF], {"remote.refused"}),
    "words": ([(200, {"content-type": "text/plain"}, b"hello")], {"remote.malformed"}),
    "no context": ([EV(T("WORKING", context="")), HOLD], {"context.missing"}),
    "another context": (
        [EV(T("WORKING")), EV(S("WORKING", context="c2")), HOLD],
        {"context.changed"},
    ),
    "an update without one": (
        [EV(T("WORKING")), EV(_less(S("WORKING"), "contextId")), HOLD],
        {"fields.missing"},
    ),
    "an empty artifact": (
        [EV(T("WORKING")), EV(A("a")), HOLD],
        {"fields.missing"},
    ),
    "an unknown method": ([ERR(-32601, "no such method")], {"remote.refused"}),
    "a redirect": ([(307, {"location": "http://elsewhere.example/"}, b"")], {"remote.redirected"}),
}


@both
@pytest.mark.parametrize("what", SAID)
async def test_what_is_odd_about_a_stream(binding: Any, what: str) -> None:
    """K2: each deviation on the stream of a send is found, by its code."""
    script, expected = SAID[what]
    async with RawAgent(binding) as agent:
        agent.on(SEND, script)
        if what == "no end":
            agent.task = T("COMPLETED")
        checkup = await checked(agent.url)
        found = {code for code, method in codes(checkup) if method == SEND}
        assert found == expected
        assert {method for _, method in codes(checkup)} <= {SEND, "GetTask", "ListTasks"}
        await agent.all_closed(timeout=1)


@both
async def test_what_is_odd_about_a_subscription(binding: Any) -> None:
    """K2: a subscription begins with the task, lasts while it works, and is refused when it is over."""
    async with RawAgent(binding) as agent:
        agent.on(SUBSCRIBE, [EV(S("WORKING")), EOF])
        checkup = await checked(agent.url)
        assert codes(checkup) == {
            ("stream.first_event", SUBSCRIBE),
            ("stream.early_end", SUBSCRIBE),
            ("remote.wrong_task", SUBSCRIBE),
        }
    async with RawAgent(binding) as agent:
        done = T("COMPLETED")
        agent.task = done
        agent.on(SEND, [EV(done), EOF])
        agent.on(SUBSCRIBE, _about_t1(agent, EV(done)))
        checkup = await checked(agent.url)
        assert codes(checkup) == {("error.missing", SUBSCRIBE)}


@both
async def test_a_task_that_ends_before_the_subscription(binding: Any) -> None:
    """K2: an agent that was quicker is not found fault with."""

    async def ends(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            agent.complete("done")
        await agent.answer(seen, reply)

    async with RawAgent(binding) as agent:
        agent.on(SUBSCRIBE, ends)
        checkup = await checked(agent.url)
        assert checkup.ok
        assert outcomes(checkup)[SUBSCRIBE] == "ok"


@both
@pytest.mark.parametrize(
    "task",
    [
        T("WORKING", ts=STAMP),
        T("COMPLETED", ts=STAMP),
        T("COMPLETED", ts=STAMP, artifacts=[A("a", "ten")]),
    ],
    ids=["another state", "no artifact", "another text"],
)
async def test_gettask_that_disagrees(binding: Any, task: Any) -> None:
    """K2: GetTask has the state and the artifacts that the stream has told."""
    async with RawAgent(binding) as agent:
        stream = [EV(T("WORKING")), EV(A("a", "ni")), EV(A("a", "ne", append=True))]
        agent.on(SEND, [*stream, EV(S("COMPLETED")), EOF])
        agent.task = task
        checkup = await checked(agent.url)
        assert ("task.disagrees", "GetTask") in codes(checkup)


@both
async def test_times_that_are_missing(binding: Any) -> None:
    """D14: without a single timestamp nobody can tell what is newer; some may be without."""
    async with RawAgent(binding) as agent:
        agent.task = T("WORKING", ts=None)
        agent.on(SEND, [EV(T("WORKING", ts=None)), HOLD])
        agent.on(SUBSCRIBE, [EV(T("WORKING", ts=None)), HOLD])
        agent.on("CancelTask", T("CANCELED", ts=None))
        agent.on("GetTask", T("WORKING", ts=None), T("CANCELED", ts=None))
        checkup = await checked(agent.url)
        assert ("timestamp.missing", SEND) in codes(checkup)
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(T("WORKING", ts=None)), HOLD])
        assert (await checked(agent.url)).ok


@both
@pytest.mark.parametrize("answer", ["a task", "another code", "another status", "words"])
async def test_tasks_that_do_not_exist(binding: Any, answer: str) -> None:
    """K4: TaskNotFoundError, as the binding says it, for a task that does not exist."""

    async def unknown(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            await agent.answer(seen, reply)
        elif answer == "a task":
            await reply.json(T("WORKING", id=seen.task_id))
        elif answer == "another code":
            await reply.error(-32603, "no such key")
        elif answer == "another status":
            await reply.error(-32001, "not found", status=410)
        else:
            await reply.respond(404, {"content-type": "text/html"}, "<h1>Not Found</h1>")

    async with RawAgent(binding) as agent:
        for method in ("GetTask", "CancelTask"):
            agent.on(method, unknown)
        checkup = await checked(agent.url)
        code = {
            "a task": "error.missing",
            "another code": "error.wrong_code",
            "another status": "error.http_status",
            "words": "error.wrong_code",
        }[answer]
        assert codes(checkup) == {(code, "GetTask"), (code, "CancelTask")}


@both
async def test_a_call_about_an_unknown_task_that_hangs(binding: Any) -> None:
    """K4: no answer is told as what it is, not as a wrong code."""

    async def unknown(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            await agent.answer(seen, reply)
        await reply.hold()

    async with RawAgent(binding) as agent:
        agent.on("CancelTask", unknown)
        quick = Patience(step=0.5, listen=0.2, closing=0.2, clearing=1)
        checkup = await checked(agent.url, patience=quick)
        assert codes(checkup) == {("remote.timeout", "CancelTask")}


@both
async def test_what_is_odd_about_a_list(binding: Any) -> None:
    """K2: a list has the tasks of the context that was asked for, without artifacts, counted."""
    other = T("WORKING", id="t9", context="c9", ts=STAMP, artifacts=[A("a", "x")])
    async with RawAgent(binding) as agent:
        agent.on("ListTasks", {"tasks": [other], "nextPageToken": "", "pageSize": 10})
        assert codes(await checked(agent.url)) == {
            ("list.incomplete", "ListTasks"),
            ("list.unfiltered", "ListTasks"),
            ("list.artifacts", "ListTasks"),
            ("list.total", "ListTasks"),
        }
        agent.on("ListTasks", ERR(-32004, "no lists here"))
        agent.put(T("WORKING"))
        assert codes(await checked(agent.url)) >= {("remote.unsupported", "ListTasks")}


@both
async def test_what_is_odd_about_push_configs(binding: Any) -> None:
    """F1: a config is created as asked, listed, and gone when it is deleted."""
    async with RawAgent(binding) as agent:
        agent.on(CREATE, {"id": "x", "taskId": "t1", "url": "http://elsewhere.example/"})
        agent.on(LIST, {"configs": []}, {"configs": [{"id": "x", "taskId": "t1", "url": "u"}]})
        checkup = await checked(agent.url)
        assert codes(checkup) == {
            ("push.changed", CREATE),
            ("push.not_listed", LIST),
            ("push.not_deleted", DELETE),
        }
        assert len(agent.calls(DELETE)) == 3


@both
@pytest.mark.parametrize(
    "answer, code",
    [
        (ERR(-32003, "no push here"), "remote.push_unsupported"),
        (ERR(-32603, "oops"), "remote.refused"),
        (ERR(-32602, "only public addresses"), None),
    ],
    ids=["unsupported", "broken", "not to loopback"],
)
async def test_push_configs_that_are_refused(binding: Any, answer: Any, code: str | None) -> None:
    """D2: a card that says push is held to it; an agent may refuse to push to loopback."""
    async with RawAgent(binding) as agent:
        agent.on(CREATE, answer)
        checkup = await checked(agent.url)
        assert codes(checkup) == ({(code, CREATE)} if code else set())
        assert len(agent.calls(DELETE)) == 1


@both
@pytest.mark.parametrize(
    "answer, code",
    [
        (ERR(-32001, "no such config"), None),
        (ERR(-32603, "no such config"), "remote.refused"),
        ((204, {}, b""), "http.empty_answer"),
    ],
    ids=["not found", "broken", "no content"],
)
async def test_configs_that_are_not_there(binding: Any, answer: Any, code: str | None) -> None:
    """F1: deleting a config that is not there changes nothing, however often."""

    async def delete(seen: Seen, reply: Reply) -> None:
        if any(config["id"] == seen.params["id"] for config in agent.push_configs):
            await agent.answer(seen, reply)
        else:
            await reply.play([answer])

    async with RawAgent(binding) as agent:
        agent.on(DELETE, delete)
        assert codes(await checked(agent.url)) == ({(code, DELETE)} if code else set())


@both
async def test_a_task_that_is_not_cancelled(binding: Any) -> None:
    """F2: an agent may refuse to cancel; then it is said that the task was left behind."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", _about_t1(agent, ERR(-32002, "not now")))
        checkup = await checked(agent.url)
        assert checkup.ok
        assert checkup.left_behind == ["task t1: the agent does not cancel it"]
        assert len(agent.calls("CancelTask")) == 2
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", _about_t1(agent, T("WORKING")))
        checkup = await checked(agent.url)
        assert checkup.ok
        assert checkup.left_behind == ["task t1: it was cancelled and is still WORKING"]
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", _about_t1(agent, T("CANCELED")))
        assert codes(await checked(agent.url)) == {("task.disagrees", "GetTask")}


@both
async def test_a_task_that_is_over_and_cancelled_all_the_same(binding: Any) -> None:
    """F2: a task that is over cannot be cancelled."""
    async with RawAgent(binding) as agent:
        done = T("COMPLETED")
        agent.task = done
        agent.on(SEND, [EV(done), EOF])
        agent.on("CancelTask", _about_t1(agent, done))
        assert codes(await checked(agent.url)) == {("error.missing", "CancelTask")}


@both
async def test_content_types_of_answers(binding: Any) -> None:
    """K1: an answer's content type is looked at, the card's too, whatever its letters' case."""
    async with RawAgent(binding) as agent:

        async def get(seen: Seen, reply: Reply) -> None:
            if seen.task_id not in agent.tasks:
                await agent.answer(seen, reply)
                return
            task = agent.tasks[seen.task_id]
            body = json.dumps(
                task if binding == "HTTP+JSON" else {"jsonrpc": "2.0", "result": task}
            )
            await reply.respond(200, {"content-type": "text/html"}, body)

        agent.on("GetTask", get)
        agent.on("AgentCard", (200, {}, json.dumps(agent.card)))
        checkup = await checked(agent.url)
        assert codes(checkup) == {
            ("http.content_type", "GetTask"),
            ("http.content_type", "AgentCard"),
        }
        seen = {found.method: found.seen for found in checkup.findings}
        assert "text/html" in seen["GetTask"]
        assert "missing" in seen["AgentCard"]
        agent.on(
            "AgentCard", (200, {"Content-Type": "Application/JSON; x=y"}, json.dumps(agent.card))
        )
        assert codes(await checked(agent.url)) == {("http.content_type", "GetTask")}


async def test_what_is_odd_about_a_card() -> None:
    """A2, case C5: nulls, missing fields: found, and no reason to refuse the agent."""
    async with RawAgent("JSONRPC", skills=None, defaultInputModes=[]) as agent:
        checkup = await checked(agent.url)
        assert codes(checkup) == {("json.null_list", "AgentCard"), ("fields.missing", "AgentCard")}
        (missing,) = [one for one in checkup.findings if one.code == "fields.missing"]
        assert missing.seen == "The card is without defaultInputModes, skills."


async def test_a_refused_agent_is_sent_nothing() -> None:
    """A3, A4: everything that it would be refused for is told, with codes."""
    async with RawAgent("JSONRPC", extensions=[{"uri": "urn:x", "required": True}]) as agent:
        agent.card["supportedInterfaces"][0]["url"] = "http://elsewhere.example/rpc"
        checkup = await checked(agent.url, agent={"version": ">=2"})
        assert [refusal.code for refusal in checkup.refusals] == [
            "card.foreign_host",
            "card.unsupported",
            "card.version_mismatch",
        ]
        assert not checkup.ok
        assert agent.calls() == []
        assert outcomes(checkup) == {"AgentCard": "failed"}


@pytest.mark.parametrize(
    "answer, words",
    [
        (
            (302, {"location": "http://elsewhere.example/card"}, b""),
            "http://elsewhere.example/card",
        ),
        ((200, JSON_TYPE, b"{"), "no JSON"),
        ((401, {"www-authenticate": "Bearer"}, b""), "check the agent's auth"),
        ([HOLD], "did not come within"),
    ],
    ids=["redirect", "no JSON", "401", "silence"],
)
async def test_a_card_that_cannot_be_had(answer: Any, words: str) -> None:
    """A4, A6: why there is no card is told, a redirect with its target."""
    async with RawAgent("JSONRPC") as agent:
        agent.on("AgentCard", answer)
        checkup = await checked(agent.url, patience=Patience(card=0.5))
        (refusal,) = checkup.refusals
        assert words in refusal.message
        assert not agent.calls()
        await agent.all_closed(timeout=1)


async def test_credentials_of_the_agent_are_used() -> None:
    """A6, A3: a credential that is missing is told by its variable; one that is there goes along."""
    auth = {"auth": {"type": "bearer", "token_env": "CHECK_TOKEN"}}
    async with lawful_agent(binding="jsonrpc", token="t0k3n", guard_card=True) as agent:
        checkup = await checked(agent.url, agent=auth)
        assert ["CHECK_TOKEN" in refusal.message for refusal in checkup.refusals] == [True]
        assert await agent.requests() == []
        checkup = await checked(agent.url, agent=auth, environ={"CHECK_TOKEN": "t0k3n"})
        assert checkup.ok
        assert "t0k3n" not in json.dumps(checkup.view())
        checkup = await checked(agent.url, agent=auth, environ={"CHECK_TOKEN": "wrong"})
        assert not checkup.ok


@both
async def test_a_call_that_is_not_allowed_ends_the_round(binding: Any) -> None:
    """K4: what would come to the same every time is tried once."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, (401, {"www-authenticate": "Bearer"}, b""))
        checkup = await checked(agent.url)
        assert codes(checkup) == {("remote.unauthorized", SEND)}
        assert outcomes(checkup)["everything else"] == "left_out"
        assert [seen.method for seen in agent.calls()] == [SEND]


@both
async def test_the_check_clears_away(binding: Any) -> None:
    """D11: the task is cancelled, the config deleted, every connection closed."""
    async with RawAgent(binding) as agent:
        assert (await checked(agent.url)).ok
        assert agent.task["status"]["state"] == "TASK_STATE_CANCELED"
        (created,) = agent.calls(CREATE)
        assert created.params["url"].startswith("http://127.0.0.1:9/")
        assert agent.push_configs == []
        await agent.until(lambda: not agent.open_connections, timeout=1)


@both
@pytest.mark.parametrize("method", [SUBSCRIBE, CREATE, LIST, "ListTasks"])
async def test_a_check_that_is_interrupted_clears_away(binding: Any, method: str) -> None:
    """D11: broken off in the middle, the check takes back what it has done."""
    async with RawAgent(binding) as agent:

        async def hangs(seen: Seen, reply: Reply) -> None:
            if method == CREATE:
                agent.push_configs.append(seen.params)
            await reply.hold()

        agent.on(method, hangs)
        check = asyncio.create_task(checked(agent.url))
        await agent.seen(method)
        check.cancel()
        with pytest.raises(asyncio.CancelledError):
            await check
        assert agent.task["status"]["state"] == "TASK_STATE_CANCELED"
        assert agent.push_configs == []
        await agent.all_closed(timeout=1)


@both
async def test_a_message_whose_answer_is_lost(binding: Any) -> None:
    """I2: a task of which nothing was heard is looked for by the message's id, and cancelled."""

    async def lost(seen: Seen, reply: Reply) -> None:
        agent.take(seen.message)
        await reply.reset()

    async with RawAgent(binding) as agent:
        agent.on(SEND, lost)
        checkup = await checked(agent.url)
        assert codes(checkup) == {("remote.reset", SEND)}
        assert agent.task["status"]["state"] == "TASK_STATE_CANCELED"
        assert checkup.left_behind == []


@both
async def test_an_agent_that_hangs(binding: Any) -> None:
    """J3: the check is over in time, and says where it waited in vain."""
    async with RawAgent(binding) as agent:
        for method in (SEND, "GetTask", "ListTasks", "CancelTask", SUBSCRIBE):
            agent.on(method, [HOLD])
        hasty = Patience(whole=1, first=0.2, step=0.3, clearing=0.2)
        checkup = await checked(agent.url, patience=hasty)
        assert ("remote.timeout", SEND) in codes(checkup)
        assert "check.too_slow" in {found.code for found in checkup.findings}
        assert checkup.left_behind == ["task (unknown): not ended within 0.2 s"]
        await agent.all_closed(timeout=1)


def test_a_check_takes_less_than_a_minute() -> None:
    """J3: whatever an agent does: the round, two things to clear away, and the stream's end."""
    patience = Patience()
    assert patience.whole + 3 * patience.clearing + patience.closing < 60


async def test_an_agent_without_the_binding_that_is_asked_for() -> None:
    """A4, A5: the card's first binding is used, or the one that is asked for, if there is one."""
    async with RawAgent("JSONRPC") as raw:
        checkup = await checked(raw.url, bindings=("HTTP+JSON",))
        (refusal,) = checkup.refusals
        assert refusal.code == "card.no_interface"
        assert "offered JSONRPC 1.0; supported A2A 1.x over HTTP+JSON." in refusal.message


def test_every_anomaly_says_what_belongs_there() -> None:
    """K2: what was met, and what A2A 1.0 has there, for each of them."""
    assert list(ANOMALIES) == list(EXPECTED) == sorted(EXPECTED)
    assert all(expected.endswith(".") for expected in EXPECTED.values())
