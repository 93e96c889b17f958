"""Watching a remote task: SubscribeToTask held open, or GetTask now and then (section D).

Everything here returns when the policy wants something else; what that is, is not decided here.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from locum.core.errors import RemoteCallError
from locum.core.events import Cause
from locum.core.hearing import heard_state
from locum.core.policy import Follow, Poll, next_action
from locum.core.report import RemoteReport
from locum.core.times import seconds_between

from ..a2a.reports import Heard
from ..pump import Pump, StreamEndedError, pumped
from .desk import Desk
from .ear import Ear
from .office import Claim
from .running import running

__all__ = ["follow", "look", "next_look", "poll"]

logger = logging.getLogger("locum.standin")


async def follow(desk: Desk) -> None:
    """Hold SubscribeToTask open, again and again, while the policy says so (D6, D8)."""
    while True:
        await _hold(desk)
        if not await _stays(desk, Follow):
            return
        await desk.fetch("follow")
        if not await _stays(desk, Follow):
            return
        await _pause(desk, desk.pause.step())


async def poll(desk: Desk) -> None:
    """GetTask at `follow_interval` while the policy says so (D8)."""
    while True:
        await desk.fetch("poll")
        if not await _stays(desk, Poll):
            return
        await _pause(desk, desk.pause.steady() if desk.client else desk.pause.step())


async def look(desk: Desk, *, only_ends: bool = False) -> None:
    """One look at the task because somebody rang, or because it was time (D3, D4).

    While GetTask does not show what a push claimed, it is asked again after 1, 2 and 4 seconds
    (`push_recheck`). With `only_ends` a reply is on its way: until the agent has it, nothing but
    an end is news. A look that GetTask did not answer is still to be taken: `next_look` says when.
    """
    desk.doorbell.clear()
    claims, desk.claims = desk.claims, ()
    cause: Cause = "push" if claims else "recovery" if desk.recovered else "recheck"
    desk.recovered = False
    claimed = claims[-1].state if claims else None
    for pause in (*desk.office.settings.push_recheck, None):
        report = await desk.ask()
        if report is not None and not (only_ends and not _is_end(report)):
            await desk.judge(report, cause)
        _note_answer(desk, is_answered=report is not None)
        sub_task = await desk.load()
        if claimed is None or pause is None or sub_task.is_resolved or desk.claims:
            break
        if only_ends and not claimed.is_terminal:
            break
        if report is not None and heard_state(sub_task, report) in (claimed, None):
            break
        if desk.pause.asked_for > pause:
            break
        await asyncio.sleep(pause)
    if desk.unanswered and not only_ends:
        _keep(desk, claims[-1:])


def _keep(desk: Desk, claims: tuple[Claim, ...]) -> None:
    """Whoever rang has not been answered yet, unless somebody else has rung since."""
    desk.claims = desk.claims or claims


def _note_answer(desk: Desk, *, is_answered: bool) -> None:
    if is_answered and desk.unanswered:
        desk.pause.reset()
    # An agent that has no GetTask will have none the next time.
    desk.unanswered = not is_answered and not desk.has_no_judge


def next_look(desk: Desk) -> float:
    """Seconds until a task that is watched by push is looked at although nobody rings (D8)."""
    standin = desk.office.settings
    # A change that was heard but may not be recorded yet is looked at again soon (D15).
    wait = standin.flip_interval if desk.held else standin.push_backstop
    due = desk.doubts.due_in(asyncio.get_running_loop().time())
    if due is not None:
        wait = min(wait, max(due, desk.pause.first))
    wait *= desk.office.random.uniform(0.9, 1.0)
    if not desk.unanswered:
        return wait
    # Nothing could be asked: no later than Retry-After or the growing pauses have it (D3).
    asked_for = desk.pause.asked_for
    return max(min(wait, desk.pause.step()), asked_for)


def _is_end(report: RemoteReport) -> bool:
    return report.state is not None and report.state.is_terminal


async def _stays(desk: Desk, kind: type[Follow] | type[Poll]) -> bool:
    sub_task = await desk.load()
    action = next_action(sub_task, desk.office.now(), traits=desk.traits, known=desk.known)
    return isinstance(action, kind)


async def _pause(desk: Desk, seconds: float) -> None:
    """Wait, and record a status text that had to wait when its time comes (D17)."""
    if desk.waiting_text is not None:
        due = min(seconds, await _text_due(desk))
        await asyncio.sleep(due)
        await _flush_text(desk)
        seconds -= due
    await asyncio.sleep(max(seconds, 0.0))


async def _text_due(desk: Desk) -> float:
    sub_task = await desk.load()
    since = seconds_between(sub_task.text_at or sub_task.created_at, desk.office.now())
    if since < 0:
        since = desk.office.settings.status_interval  # the clock was set back
    return max(desk.office.settings.status_interval - since, 0.0) + 0.005


async def _flush_text(desk: Desk) -> None:
    report, desk.waiting_text = desk.waiting_text, None
    if report is not None:
        await desk.hear(report, source="stream", cause="follow")


async def _hold(desk: Desk) -> None:
    """One subscription, read until the policy wants something else or it ends."""
    client = desk.client
    if client is None:
        return
    sub_task = await desk.load()
    stream = client.subscribe(sub_task.remote_task_id, participant_id=sub_task.participant_id)
    try:
        life = _Life()
        async with (
            pumped(stream) as pump,
            running(_read(desk, pump, life)) as reading,
            running(_tend(desk, life)) as tending,
        ):
            await asyncio.wait({reading, tending}, return_when=asyncio.FIRST_COMPLETED)
            (reading if reading.done() else tending).result()
    except StreamEndedError:
        return
    except RemoteCallError as error:
        desk.pause.at_least(error.retry_after)
        if error.code == "remote.too_large":
            # The same event would come again at each subscription (case S7).
            desk.gone_streaming = True
        logger.info(
            "sub-task %s: the stream of agent %s failed (%s): %s",
            desk.id,
            desk.agent_id,
            error.code,
            error.message,
        )


class _Life:
    """What has come on one stream: whether an event came, and whether one is being heard."""

    def __init__(self) -> None:
        self.stirred = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """While an event is heard, which may ask GetTask itself."""
        self.idle.clear()
        self.stirred.set()
        yield
        self.stirred.set()
        self.idle.set()


async def _read(desk: Desk, pump: Pump[Heard], life: _Life) -> None:
    # What the subscription before brought without a snapshot may come again (D7).
    desk.artifacts.settle()
    ear = Ear(desk, source="stream", cause="follow", live=False)
    while True:
        heard = await pump.next()
        with life.hearing():
            await ear.hear_beside(heard.report, pump)
        if not await _stays(desk, Follow):
            return


async def _tend(desk: Desk, life: _Life) -> None:
    """Look at the task when its stream is quiet, and record a text that had to wait (D8, D17).

    All beside the reading of the stream, on which the end may come while GetTask hangs.
    """
    clock = asyncio.get_running_loop().time
    quiet_since = clock()
    while True:
        life.stirred.clear()
        standin = desk.office.settings
        # A change that was heard but may not be recorded yet is looked at again soon (D15).
        most = min(standin.flip_interval, standin.quiet_check) if desk.held else standin.quiet_check
        due = desk.doubts.due_in(clock())
        if due is not None:
            # Nor is a doubt left for long, though no more is asked than by polling.
            most = min(most, max(due, desk.pause.first))
        quiet = most - (clock() - quiet_since)
        wait = quiet if desk.waiting_text is None else min(quiet, await _text_due(desk))
        try:
            async with asyncio.timeout(max(wait, 0.0)):
                await life.stirred.wait()
        except TimeoutError:
            if wait < quiet:
                await _flush_text(desk)
            else:
                # Silence is no news and no end: GetTask decides, the stream stays open (D8). While
                # an event is heard it is no silence, and GetTask is asked about that.
                await (_recheck(desk) if life.idle.is_set() else life.idle.wait())
                quiet_since = clock()
            if not await _stays(desk, Follow):
                return
        else:
            quiet_since = clock()


async def _recheck(desk: Desk) -> None:
    said = await desk.ask()
    # When the stream was quicker, the answer is out of date, unless it is the end.
    if said is not None and (_is_end(said) or said.asked_at == (await desk.load()).version):
        await desk.judge(said, "recheck")
