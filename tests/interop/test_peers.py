"""Every peer of the matrix behaves as told, seen without locum; what is odd about one is shown.

FastA2A is asked in plain JSON-RPC, since the plain a2a-sdk client cannot read its timestamps.
"""

import json
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from google.protobuf.json_format import MessageToDict, ParseError

from tests.agents.frames import Json
from tests.agents.process import AgentProcess
from tests.agents.sdk import plain_client, send_request

from .peers.starter import PEERS, Peer, release, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", params=PEERS, ids=lambda peer: peer.id)
def peer(request: pytest.FixtureRequest) -> Peer:
    """Each test runs against each peer."""
    chosen: Peer = request.param
    return chosen


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(peer: Peer) -> AsyncIterator[AgentProcess]:
    """The peer, running."""
    async with running(peer) as started:
        yield started


async def _hear(peer: Peer, agent: AgentProcess, text: str) -> list[Json]:
    """The stream of a send: StreamResponses as JSON."""
    return [event async for event in _stream(peer, agent, text)]


async def _stream(peer: Peer, agent: AgentProcess, text: str) -> AsyncIterator[Json]:
    if peer.library != "fasta2a":
        async with plain_client(agent.url, peer.binding) as client:
            async for one in client.send_message(send_request(text)):
                yield MessageToDict(one)
        return
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}
    call = _call("SendStreamingMessage", {"message": message})
    async with (
        httpx.AsyncClient(trust_env=False) as http,
        http.stream("POST", agent.url, json=call) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))["result"]


def _call(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _last_state(heard: list[Json]) -> str:
    return str(heard[-1]["statusUpdate"]["status"]["state"]).removeprefix("TASK_STATE_")


def _said(heard: list[Json]) -> str:
    return str(heard[-1]["statusUpdate"]["status"]["message"]["parts"][0]["text"])


async def test_a_direct_answer(peer: Peer, agent: AgentProcess) -> None:
    """Interop: a message; FastA2A has only tasks, so one that is over at once."""
    heard = await _hear(peer, agent, peer.told("direct"))
    if peer.library == "fasta2a":
        assert _last_state(heard) == "COMPLETED"
    else:
        assert [one["message"]["parts"][0]["text"] for one in heard] == ["hello there"]


async def test_chunks(peer: Peer, agent: AgentProcess) -> None:
    """Interop: an artifact in three chunks, then the end."""
    heard = await _hear(peer, agent, peer.told("stream"))
    chunks = [one["artifactUpdate"] for one in heard if "artifactUpdate" in one]
    texts = [chunk["artifact"]["parts"][0]["text"] for chunk in chunks]
    assert texts == ["Hello, ", "big ", "world"]
    assert [chunk.get("append", False) for chunk in chunks] == [False, True, True]
    assert _last_state(heard) == "COMPLETED"


@pytest.mark.parametrize(
    "behaviour, state, text",
    [
        ("ask", "INPUT_REQUIRED", "Which hall?"),
        ("fail", "FAILED", "no chairs left"),
        ("reject", "REJECTED", "not my work"),
    ],
)
async def test_a_stop_with_words(
    peer: Peer, agent: AgentProcess, behaviour: str, state: str, text: str
) -> None:
    """Interop: asking, failing and rejecting say why, on the stream at least."""
    heard = await _hear(peer, agent, peer.told(behaviour))
    assert _last_state(heard) == state
    assert _said(heard) == text


async def test_authorisation(peer: Peer, agent: AgentProcess) -> None:
    """Interop: AUTH_REQUIRED is said, and clears without a message."""
    states = []
    async for one in _stream(peer, agent, peer.told("auth", "peers")):
        if "statusUpdate" in one:
            states.append(_last_state([one]))
            if states[-1] == "AUTH_REQUIRED":
                await release(agent.url, "peers")
    assert states[-3:] == ["AUTH_REQUIRED", "WORKING", "COMPLETED"]


async def test_the_plain_client_cannot_read_fasta2a(peer: Peer, agent: AgentProcess) -> None:
    """K2: a timestamp without a zone stops the plain client; every other peer is read by it."""
    async with plain_client(agent.url, peer.binding) as client:
        stream = client.send_message(send_request(peer.told("stream")))
        if peer.library == "fasta2a":
            with pytest.raises(ParseError, match="timestamp"):
                await anext(stream)
        else:
            assert (await anext(stream)).WhichOneof("payload") == "task"


async def test_hanging_until_cancelled(peer: Peer, agent: AgentProcess) -> None:
    """Interop: a hanging task can be cancelled while its stream is open."""
    stream = _stream(peer, agent, peer.told("hang"))
    task_id = (await anext(stream))["task"]["id"]
    async with httpx.AsyncClient(
        headers={"A2A-Version": "1.0"}, trust_env=False, timeout=30
    ) as http:
        card = (await http.get(f"{agent.url}/.well-known/agent-card.json")).json()
        base = card["supportedInterfaces"][0]["url"]
        if peer.binding == "JSONRPC":
            canceled = await http.post(base, json=_call("CancelTask", {"id": task_id}))
        else:
            canceled = await http.post(f"{base}/tasks/{task_id}:cancel", json={})
        said = canceled.json()
        task = said.get("result", said)
        assert task["id"] == task_id
    heard = [one async for one in stream]
    assert _last_state(heard) == "CANCELED"
