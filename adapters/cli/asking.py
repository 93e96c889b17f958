"""`locum ask`: one question to one agent, without a store and without a server.

Talks to the agent through the explicit client, prints what it says, and asks back at the terminal.
"""

import asyncio
import sys
from collections.abc import Sequence

import rich_click as click

from locum.core.errors import LocumError
from locum.core.report import artifacts_text
from locum.projections.notifications import part_lines

from ..client import A2AClient, A2AResult
from .options import Seconds, json_option, refusable
from .output import clean, console, plain, print_json
from .reaching import credential_tables, reaching_options
from .show import state_text
from .waiting import WAITS

__all__ = ["ask"]


@click.command()
@click.argument("url", metavar="URL")
@click.argument("text")
@click.option("--stream", "streams", is_flag=True, help="Show the answer as it comes.")
@click.option("--task", "task_id", default="", metavar="ID", help="Answer this task, which waits.")
@click.option("--context", "context_id", default="", metavar="ID", help="Go on in this context.")
@click.option(
    "--timeout", type=Seconds(), default=300.0, show_default=True, help="Seconds for each turn."
)
@reaching_options
@json_option
@refusable
def ask(
    url: str,
    text: str,
    streams: bool,
    task_id: str,
    context_id: str,
    timeout: float,
    bearer_env: str | None,
    auth: str | None,
    allowed_hosts: tuple[str, ...],
    allow_insecure: bool,
    ca_file: str,
    as_json: bool,
) -> None:
    """Ask an agent once, without store or server.

    URL is the agent's own, or its card's, which ends in .json.

    Exit status: 0 answered, 1 refused or failed, 2 usage, 3 the agent still waits for an answer.
    """
    names_card = url.partition("?")[0].endswith(".json")
    client = A2AClient(
        card_url=url if names_card else "",
        url="" if names_card else url,
        allowed_hosts=allowed_hosts,
        allow_insecure=allow_insecure,
        streaming=True,
        timeout=timeout,
        credentials=credential_tables(bearer_env, auth) or None,
        ca_file=ca_file,
    )
    shown = _Shown(as_json=as_json, streams=streams)
    result = asyncio.run(_turn(client, shown, text, task_id, context_id))
    while result.input_required or result.auth_required:
        answer = _answer(client, result)
        if answer is None:
            break
        shown.begin()
        ids = (result.task_id, result.context_id)
        result = asyncio.run(_turn(client, shown, answer or None, *ids))
    shown.end(result, url)
    if not result.completed:
        raise SystemExit(1 if result.failed else WAITS)


async def _turn(
    client: A2AClient, shown: "_Shown", text: str | None, task_id: str, context_id: str
) -> A2AResult:
    """One message and what comes of it; None: wait for the task to move on by itself."""
    if text is not None and not shown.streams:
        # With the task's id at once, so that Ctrl-C can cancel it (G5).
        return await client.send(
            text, task_id=task_id, context_id=context_id, return_immediately=not task_id
        )
    updates = (
        client.stream(text, task_id=task_id, context_id=context_id)
        if text is not None
        else client.subscribe(task_id)
    )
    result: A2AResult | None = None
    async with updates:
        async for result in updates:
            shown.update(result)
    assert result is not None, "a stream without an answer is an error"
    return result


def _answer(client: A2AClient, result: A2AResult) -> str | None:
    """What is typed at the terminal; nothing to look again for an authorisation, None to give up.

    Read outside of any event loop, so that Ctrl-C works; it cancels the task.
    """
    words = plain(result.text or "(it said nothing more)")
    asks = "asks" if result.input_required else "needs an authorisation"
    out = console(stderr=True)
    out.print(f"The agent {asks}:", words)
    if result.auth_required:
        out.print("Press Enter when it is given, or type an answer.")
    try:
        while line := _read_line():
            if line.strip() or result.auth_required:
                return line.strip()
    except KeyboardInterrupt:
        asyncio.run(_cancel(client, result.task_id))
        raise
    return None


def _read_line() -> str:
    if sys.stdin is None or sys.stdin.closed:
        return ""
    click.echo("> ", nl=False, err=True)
    return sys.stdin.readline()


async def _cancel(client: A2AClient, task_id: str) -> None:
    try:
        await client.cancel_task(task_id, timeout=2)
    except LocumError as error:
        click.echo(f"{error.code}: {error.message}", err=True)


class _Shown:
    """What has been printed of the answer: text as it comes, or JSON, a line for each update."""

    def __init__(self, *, as_json: bool, streams: bool) -> None:
        self.streams = streams
        self._as_json = as_json
        self._text = ""
        self._status = ""

    def begin(self) -> None:
        """Another turn: what was printed before is not gone on with."""
        self._end_line()
        self._text = self._status = ""

    def update(self, result: A2AResult) -> None:
        """Print what an update brings."""
        if not self.streams:
            return
        if self._as_json:
            print_json(result.as_dict(), indent=None)
            return
        self._go_on(artifacts_text(result.artifacts))
        if result.status_text != self._status and not result.settled:
            self._status = result.status_text
            console(stderr=True).print(plain(self._status, 100), style="dim")

    def end(self, result: A2AResult, url: str) -> None:
        """Print the result, or the rest of it; why there is none goes to standard error."""
        if self._as_json:
            if not self.streams:
                print_json(result.as_dict())
            return
        if result.completed:
            self._go_on(result.text)
            self._end_line()
            for line in _others(result):
                click.echo(clean(line))
            return
        self._end_line()
        out = console(stderr=True)
        if result.failed:
            words = plain(result.text or "the agent gave no reason")
            out.print(state_text(str(result.state)), words)
            return
        ids = f"--task {result.task_id} --context {result.context_id}"
        out.print(plain(f"It waits. Answer later with: locum ask {url} ANSWER {ids}"))

    def _go_on(self, text: str) -> None:
        if not text.startswith(self._text):
            self._end_line()
            self._text = ""
        click.echo(clean(text[len(self._text) :]), nl=False)
        self._text = text

    def _end_line(self) -> None:
        if self._text and not self._text.endswith("\n"):
            click.echo()


def _others(result: A2AResult) -> Sequence[str]:
    parts = [part for artifact in result.artifacts for part in artifact.parts]
    return list(part_lines(parts, result.text))
