"""Stories of a watch: locum is killed around a question, a push config, a push and a result."""

import asyncio
from contextlib import suppress

from tests.agents.frames import HOLD, A, Json, S, T
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .stage import FREEZE, KILL, Stage, Story, Telling, story

STORIES: list[Story] = []
CREATE = "CreateTaskPushNotificationConfig"
LIST = "ListTaskPushNotificationConfigs"
SEND = "SendStreamingMessage"


async def works(at: Stage) -> None:
    """The agent works and is followed."""
    await at.spawn()
    await at.agent.seen("SubscribeToTask")


async def asks(at: Stage, words: str = "which?") -> None:
    """The agent asks."""
    await works(at)
    at.agent.tell(S("INPUT_REQUIRED", words))
    await at.until("INPUT_REQUIRED")


async def watched(at: Stage) -> None:
    """The agent asks, has the push config, and was looked at once since."""
    await asks(at)
    await at.agent.seen(CREATE)
    await looked(at)


async def rings(at: Stage, words: str = "12") -> None:
    """The agent ends and says so in a push, whose token is taken."""
    at.agent.put(T("COMPLETED", artifacts=[A("a", words)]))
    answer = await at.agent.push()
    assert answer.status == 204, answer
    assert (await at.until("COMPLETED"))["text"] == words
    await at.told("question", "ended")


async def looked(at: Stage) -> None:
    """The look that belongs to the latest registration is over (D2)."""

    def is_over() -> bool:
        latest = at.agent.calls(CREATE)[-1]
        looks = [seen for seen in at.agent.calls("GetTask") if seen.number > latest.number]
        return bool(looks) and looks[0].closed.is_set()

    await at.agent.until(is_over, what="the look after the registration")


def keeping(at: Stage, *, is_told: bool) -> object:
    """The agent takes the push config, and answers or not."""

    async def create(seen: Seen, reply: Reply) -> None:
        at.agent.push_configs.append(dict(seen.params))
        await reply.play([at.agent.push_configs[-1] if is_told else HOLD])

    return create


@story(STORIES, updates="follow")
async def worked(at: Stage) -> Telling:
    """I1: what worked is followed again, and its end is told once."""
    await works(at)
    yield KILL
    await at.agent.seen("SubscribeToTask", count=2)
    at.agent.complete("12")
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("ended")


@story(STORIES, agent={"streaming": False})
async def worked_without_streaming(at: Stage) -> Telling:
    """I1: what worked and is polled is polled again."""
    await at.spawn()
    await at.agent.seen("GetTask")
    yield KILL
    seen = len(at.agent.calls("GetTask"))
    await at.agent.seen("GetTask", count=seen + 1)
    at.agent.complete("12")
    await at.until("COMPLETED")
    await at.told("ended")


@story(STORIES)
async def ended_meanwhile(at: Stage) -> Telling:
    """I1: what ended while locum was down is found, with its result."""
    await works(at)
    yield KILL
    at.agent.complete("12")
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("ended")


@story(STORIES, updates="follow")
async def asked_and_not_heard(at: Stage) -> Telling:
    """I1: the question had arrived and was not read: it is heard and told, once."""
    await works(at)
    yield FREEZE
    at.agent.tell(S("INPUT_REQUIRED", "which?"))
    yield KILL
    assert (await at.until("INPUT_REQUIRED"))["text"] == "which?"
    await at.told("question")
    await at.agent.seen("SubscribeToTask", count=2)
    at.agent.complete("12")
    await at.until("COMPLETED")
    await at.told("question", "ended")


@story(STORIES, updates="follow")
async def asked_and_told(at: Stage) -> Telling:
    """E3: a question that was told before the kill is not told again after it."""
    await asks(at)
    await at.told("question")
    await at.agent.seen("SubscribeToTask")
    yield KILL
    await at.agent.seen("SubscribeToTask", count=2)
    at.agent.complete("12")
    await at.until("COMPLETED")
    await at.told("question", "ended")
    await at.event("Parked")


@story(STORIES, updates="off")
async def asked_and_not_watched(at: Stage) -> Telling:
    """D9: parked and not watched: nothing is asked of the agent until there is a reply."""
    await asks(at)
    yield KILL
    await at.reply()
    await at.agent.seen(SEND, count=2)
    at.agent.complete("12")
    await at.until("COMPLETED")
    await at.told("question", "ended")


@story(STORIES)
async def authorised_meanwhile(at: Stage) -> Telling:
    """D15: an authorisation that came while locum was down clears without a reply."""
    await works(at)
    at.agent.tell(S("AUTH_REQUIRED", "log in"))
    await at.until("AUTH_REQUIRED")
    await at.agent.seen(CREATE)
    yield KILL
    at.agent.put(T("WORKING"))
    await at.until("WORKING")
    at.agent.complete("12")
    await at.until("COMPLETED")
    await at.told("authorization", "ended")


@story(STORIES)
async def registration_asked_and_lost(at: Stage) -> Telling:
    """I1: the config was asked for and is not there: the watch is made anew, told to nobody."""
    at.agent.on(CREATE, [HOLD])
    await asks(at)
    await at.agent.seen(CREATE)
    at.agent.on(CREATE)
    yield KILL
    one, other = await at.agent.seen(CREATE, count=2)
    assert one.params["token"] != other.params["token"]
    again = await at.event("Parked", count=2)
    assert (again["question"], again["cause"]) == (3, "recovery")
    await looked(at)
    await rings(at)


@story(STORIES)
async def registration_asked_and_taken(at: Stage) -> Telling:
    """I1: the config was asked for and is there: it is kept, and its token still rings."""
    at.agent.on(CREATE, keeping(at, is_told=False))
    await asks(at)
    await at.agent.seen(CREATE)
    yield KILL
    await at.agent.seen(LIST)
    await at.agent.seen("GetTask")
    await rings(at)
    assert len(at.agent.calls(CREATE)) == 1
    await at.event("Parked")


@story(STORIES)
async def registered_and_not_heard(at: Stage) -> Telling:
    """I1: the agent's answer had arrived and was not read: the config is there, and is kept."""
    answer = asyncio.Event()

    async def create(seen: Seen, reply: Reply) -> None:
        at.agent.push_configs.append(dict(seen.params))
        await reply.play([answer, at.agent.push_configs[-1]])

    at.agent.on(CREATE, create)
    await asks(at)
    await at.agent.seen(CREATE)
    yield FREEZE
    answer.set()
    yield KILL
    await at.agent.seen("GetTask")
    await rings(at)
    assert len(at.agent.calls(CREATE)) == 1


@story(STORIES)
async def registered_and_not_looked(at: Stage) -> Telling:
    """I1: registered, and killed during the one look that belongs to it: it looks again."""
    at.agent.on("GetTask", [HOLD])
    await asks(at)
    await at.agent.seen(CREATE)
    await at.agent.seen("GetTask")
    at.agent.on("GetTask")
    yield KILL
    await at.agent.seen("GetTask", count=2)
    await rings(at)
    assert len(at.agent.calls(CREATE)) == 1


@story(STORIES)
async def watched_by_push(at: Stage) -> Telling:
    """I1: a push watch is fetched once and kept: the token that the agent has still rings."""
    await watched(at)
    looks = len(at.agent.calls("GetTask"))
    yield KILL
    await at.agent.seen("GetTask", count=looks + 1)
    await at.agent.all_closed(timeout=5)
    assert len(at.agent.calls("GetTask")) == looks + 1
    await rings(at)
    assert len(at.agent.calls(CREATE)) == 1
    await at.event("Parked")


@story(STORIES)
async def watched_by_push_that_tells_no_tokens(at: Stage) -> Telling:
    """I1: an agent that lists its configs without their tokens: there was only this one."""
    at.agent.on(LIST, listing_without_tokens(at))
    await watched(at)
    yield KILL
    await at.agent.seen("GetTask", count=2)
    await rings(at)
    assert len(at.agent.calls(CREATE)) == 1


def listing_without_tokens(at: Stage) -> object:
    """The agent lists its configs without what is secret in them."""
    secret = ("token", "authentication")

    async def listing(seen: Seen, reply: Reply) -> None:
        configs = [
            {key: x for key, x in one.items() if key not in secret} for one in at.agent.push_configs
        ]
        await reply.json({"configs": configs})

    return listing


@story(STORIES)
async def lost_by_the_agent(at: Stage) -> Telling:
    """I1: the agent lost the config while locum was down: the watch is made anew."""
    await watched(at)
    at.agent.push_configs.clear()
    yield KILL
    await at.agent.seen(CREATE, count=2)
    await at.event("Parked", count=2)
    await looked(at)
    await rings(at)


async def asks_twice(at: Stage) -> None:
    """A second question, whose push config was asked for and did not arrive."""
    await watched(at)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    at.agent.on(CREATE, [HOLD])
    at.agent.tell(S("INPUT_REQUIRED", "how high?"))
    await at.agent.seen(CREATE, count=2)


async def rings_with_a_new_token(at: Stage) -> None:
    """The agent was given the token that counts now."""
    at.agent.on(CREATE)
    *_, lost, new = await at.agent.seen(CREATE, count=3)
    assert new.params["token"] != lost.params["token"]
    await looked(at)
    assert at.agent.push_configs[-1]["token"] == new.params["token"]
    at.agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    assert (await at.agent.push()).status == 204
    await at.until("COMPLETED")
    await at.told("question", "question", "ended")


@story(STORIES)
async def second_registration_lost(at: Stage) -> Telling:
    """I1: the agent still has the config of the question before, whose token no longer rings."""
    await asks_twice(at)
    at.agent.on(CREATE)
    yield KILL
    await rings_with_a_new_token(at)


@story(STORIES)
async def second_registration_lost_and_no_tokens_told(at: Stage) -> Telling:
    """I1: the same, and the agent does not say which token it has: it is given a new one."""
    at.agent.on(LIST, listing_without_tokens(at))
    await asks_twice(at)
    at.agent.on(CREATE)
    yield KILL
    await rings_with_a_new_token(at)


@story(STORIES)
async def pushed_and_not_heard(at: Stage) -> Telling:
    """I1: a push came to a process that was as good as dead: the look at the start finds it."""
    await watched(at)
    yield FREEZE
    at.agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    pushing = asyncio.create_task(at.agent.push())
    await asyncio.sleep(0.05)
    yield KILL
    with suppress(OSError, IndexError, ValueError):
        await pushing
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("question", "ended")


@story(STORIES)
async def pushed_and_not_fetched(at: Stage) -> Telling:
    """I1: a push was accepted, and locum killed while it asked: the look at the start finds it."""
    await watched(at)
    at.agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    at.agent.on("GetTask", [HOLD])
    looks = len(at.agent.calls("GetTask"))
    assert (await at.agent.push()).status == 204
    await at.agent.seen("GetTask", count=looks + 1)
    at.agent.on("GetTask")
    yield KILL
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("question", "ended")


def named_by_the_agent(at: Stage) -> object:
    """The agent gives a config an id of its own, whatever it was asked."""

    async def create(seen: Seen, reply: Reply) -> None:
        config: Json = seen.params | {"id": f"own-{len(at.agent.push_configs)}"}
        at.agent.push_configs.append(config)
        await reply.json(config)

    return create


@story(STORIES)
async def watched_under_another_id(at: Stage) -> Telling:
    """F1: a config that the agent named itself is known by its URL, kept, and deleted at the end."""
    at.agent.on(CREATE, named_by_the_agent(at))
    await watched(at)
    yield KILL
    await at.agent.seen("GetTask", count=2)
    await rings(at)
    assert len(at.agent.calls(CREATE)) == 1
