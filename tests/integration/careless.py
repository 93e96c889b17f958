"""The demonstration with another agent: one that does not count, and lifts what it should not.

    python -m tests.integration.careless demo     the story, told at the terminal that it is run in
    python -m tests.integration.careless agent    the agent; more is added by the story

No tests.
"""

import asyncio
import sys

from a2a.helpers import get_message_text
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue

from locum.adapters.cli.output import console
from locum.adapters.demo import agent
from locum.adapters.demo.story import run_demo

__all__ = ["Careless", "command"]


class Careless(agent.Caretaker):
    """Fails at what it should count, and paints without a question after that."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """One turn of a task."""
        message = context.message
        assert message is not None
        if get_message_text(message).startswith("Count"):
            message.parts[0].text = "Lift " + message.parts[0].text
        await super().execute(context, event_queue)


def command(part: str) -> list[str]:
    """What runs a part of this."""
    return [sys.executable, "-m", "tests.integration.careless", part]


def main() -> None:
    """Run the part that the first argument names."""
    match sys.argv.pop(1):
        case "agent":
            agent.main(Careless)
        case "demo":
            sys.exit(bool(asyncio.run(run_demo(console(), agent=command("agent")))))


if __name__ == "__main__":
    main()
