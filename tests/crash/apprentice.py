"""The executor of `self` in tests that end its process: what it does is in the words it is sent.

`locum serve` finds it by its name, and a test may hand it to a harness. Asserts nothing.
"""

import asyncio

from a2a.helpers import get_message_text, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Message, Part

__all__ = ["CARD", "Apprentice"]

CARD = {
    "name": "Apprentice",
    "description": "Does as it is told",
    "executor": "tests.crash.apprentice:Apprentice",
}


class Apprentice(AgentExecutor):
    """`ask` and `log in` park, `slow` brings a part and goes on for ever, all else is done."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        update = TaskUpdater(event_queue, task.id, task.context_id)
        await update.start_work()
        said = get_message_text(context.message)
        if "ask" in said:
            await update.requires_input(_words(update, "Which?"))
            return
        if "log in" in said:
            await update.requires_auth(_words(update, "Where?"))
            return
        await update.add_artifact([Part(text="half")], artifact_id="a")
        if "slow" in said:
            await update.start_work(_words(update, "counting"))
            await asyncio.Event().wait()
        await update.add_artifact([Part(text=" and half")], artifact_id="a", append=True)
        await update.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id
        assert context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def _words(update: TaskUpdater, text: str) -> Message:
    return update.new_agent_message([Part(text=text)])
