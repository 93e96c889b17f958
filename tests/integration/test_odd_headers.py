"""Headers of an agent's answers that are no ASCII, or very long: they cost nothing but themselves."""

import pytest

from locum.core.errors import AgentRefusedError, RemoteCallError
from tests.agents.frames import EOF, ERR, EV, A, Binding, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .registries import Clock, is_accepted, refused, registry, serves
from .support import locum, until
from .wired import wired

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]
# As the raw agent writes them: each character is a byte.
NAMES = {
    "latin-1": {"X-Team": "Büro"},
    "utf-8": {"X-Team": "Büro 事務".encode().decode("latin-1")},
    "any bytes": {"X-Team": "".join(map(chr, [9, *range(32, 127), *range(128, 256)]))},
    "long": {"X-Team": "ü" * 15_000},
}
names = pytest.mark.parametrize("named", NAMES.values(), ids=list(NAMES))


@names
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("binding", BINDINGS)
async def test_work_is_done(binding: Binding, streaming: bool, named: dict[str, str]) -> None:
    """C6, D8: a header of any bytes (RFC 9110, 5.5) makes no answer worse, of a send or GetTask."""
    working, done = T("WORKING"), T("COMPLETED", artifacts=[A("a", "done")])
    async with RawAgent(binding, streaming=streaming) as agent:

        async def streamed(seen: Seen, reply: Reply) -> None:
            await reply.sse(headers=named)
            await reply.play([EV(working), EOF])

        async def answered(seen: Seen, reply: Reply) -> None:
            await reply.json(done if seen.method == "GetTask" else working, headers=named)

        agent.on("SendMessage", answered)
        agent.on("GetTask", answered)
        agent.on("SendStreamingMessage", streamed)
        agent.on("SubscribeToTask", streamed)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            assert (await until(harness, row.id, "COMPLETED")).text == "done"


@names
@pytest.mark.parametrize("binding", BINDINGS)
async def test_an_error_is_told(binding: Binding, named: dict[str, str]) -> None:
    """K4: an error keeps its kind and its words under a header of any bytes."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", [ERR(-32001, "never heard of it", headers=tuple(named.items()))])
        with pytest.raises(RemoteCallError, match="never heard of it") as caught:
            await peer.get()
        assert (caught.value.code, caught.value.kind) == ("remote.not_found", "refused")


@names
async def test_a_card_is_accepted(named: dict[str, str]) -> None:
    """A2: a header of any bytes on a card's answer is nobody's business."""
    async with RawAgent() as agent:
        agent.on("AgentCard", serves(agent.card, **named))
        async with registry({"id": "a", "url": agent.url}) as entered:
            assert is_accepted(entered)


@pytest.mark.parametrize("asked", ["é" * 20, "x" * 3000, "Bearer realm=\x80"])
async def test_a_challenge_of_any_bytes(asked: str) -> None:
    """A4, K4: what a 401 asks for is told in the refusal, however long and in whatever letters."""
    async with RawAgent() as agent:
        agent.on("AgentCard", (401, {"www-authenticate": asked, "x-team": "Büro"}, ""))
        async with registry({"id": "a", "url": agent.url}) as entered:
            code, reason = refused(entered)
        assert code == "card.unreachable"
        assert "HTTP 401" in reason
        assert "check the agent's auth" in reason


@pytest.mark.parametrize(
    "etag", ['"é"', '"é"'.encode().decode("latin-1"), '"' + "x" * 12_000 + '"']
)
async def test_an_etag_that_cannot_go_back(etag: str) -> None:
    """A11: a card whose ETag is no ASCII, or as long as a head, is fetched anew without it."""
    clock = Clock()
    async with RawAgent() as agent:
        agent.on("AgentCard", serves(agent.card, **{"cache-control": "max-age=1", "etag": etag}))
        async with registry({"id": "a", "url": agent.url}, clock=clock) as entered:
            clock.now += 2
            await entered.ready("a")
        assert [seen.headers.get("if-none-match") for seen in agent.requests] == [None, None]


@pytest.mark.parametrize("sign", ["\x01", "\x0b", "\x7f", "\x9f"])
async def test_control_characters_in_a_header(sign: str) -> None:
    """A11, A4: a control character in a header stays there: it goes into no request and no words."""
    clock = Clock()
    odd = {"etag": f'"a{sign}b"', "x-team": sign, "cache-control": "max-age=1"}
    async with RawAgent() as agent:
        agent.on(
            "AgentCard",
            serves(agent.card, **odd),
            (401, {"www-authenticate": f"Bearer{sign}realm"}, ""),
        )
        async with registry({"id": "a", "url": agent.url}, clock=clock) as entered:
            assert is_accepted(entered)
            clock.now += 2
            with pytest.raises(AgentRefusedError):
                await entered.ready("a")
            assert "(Bearer realm)" in refused(entered)[1]
        assert "if-none-match" not in agent.requests[1].headers
