"""`locum agents --check` against each peer: it finds what docs/interop.md explains, and no more."""

import pytest

from tests.integration.checking import checked, codes

from .peers.starter import PEERS, Peer, running

DELETE = "DeleteTaskPushNotificationConfig"
STAMPLESS = ("SendStreamingMessage", "GetTask", "SubscribeToTask", "CancelTask")
FOUND = {
    "a2a-js-rest": {("http.empty_answer", DELETE)},
    "fasta2a-rpc": {
        ("fields.missing", "AgentCard"),
        ("remote.unsupported", "ListTasks"),
        *(("json.timestamp", method) for method in STAMPLESS),
    },
}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.id)
async def test_what_the_check_finds(peer: Peer) -> None:
    """K2: a task that works until it is cancelled, one that is over, and one that is none."""
    expected = FOUND.get(peer.id, set())
    async with running(peer) as agent:
        working = await checked(agent.url, text=peer.told("hang"))
        assert codes(working) == expected
        assert working.left_behind == []
        over = await checked(agent.url, text=peer.told("stream"))
        answered = {"SubscribeToTask", "CancelTask"} if peer.library == "fasta2a" else set()
        assert codes(over) == expected | {("error.missing", method) for method in answered}
        direct = await checked(agent.url, text=peer.told("direct"))
        assert codes(direct) <= codes(over)
