"""`locum agents --check`: what the check of an agent found, in lines that fit 80 columns, or as JSON.

`adapters/a2a/checkup/examination.py` does the checking; here is decided which agent is meant, and how it reads.
"""

import asyncio
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import rich_click as click

from locum.core.errors import ConfigError

from ..a2a.cards.accepting import BINDINGS
from ..a2a.cards.fetch import card_urls
from ..a2a.checkup.examination import MESSAGE, Checkup, check_up
from ..a2a.interface import Binding
from ..origins import BadUrlError, Origin
from ..settings import Settings
from ..settings.agents import AgentSettings, read_auth
from ..settings.tables import read_fields
from .output import clean, print_json

__all__ = ["MESSAGE", "Reach", "check_agents"]

WIDTH = 80
_COLOURS = {"ok": "green", "odd": "yellow", "failed": "red", "left_out": "bright_black"}
_OUTCOMES = {"ok": "ok", "odd": "odd", "failed": "failed", "left_out": "–"}


@dataclass(frozen=True)
class Reach:
    """What the command line says of how the agent is reached; see `reaching.py`."""

    auth: Sequence[Mapping[str, object]] = ()
    allowed_hosts: tuple[str, ...] = ()
    allow_insecure: bool = False
    ca_file: str = ""
    binding: Binding | None = None


def check_agents(
    settings: Settings, url: str | None, reach: Reach, *, text: str = MESSAGE, as_json: bool
) -> bool:
    """Check the agent at `url`, or all that are configured, and print what was found.

    True when nothing is wrong with any of them. Raises ConfigError.
    """
    agents = [_given(each, reach) for each in _meant(settings, url)]
    if sys.stderr.isatty():
        for agent in agents:
            click.echo(f"checking {agent.card_url or agent.url} …", err=True)
    checkups = asyncio.run(_check(agents, settings.standin.participant_id, text, reach.binding))
    if as_json:
        print_json({"checks": [one.view() for one in checkups]})
    elif not checkups:
        click.echo("No agent is configured.")
    else:
        for line in _report(checkups):
            click.echo(line)
    return all(one.ok for one in checkups)


async def _check(
    agents: Sequence[AgentSettings], participant_id: str, text: str, binding: Binding | None
) -> list[Checkup]:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                check_up(
                    agent,
                    environ=os.environ,
                    participant_id=participant_id,
                    text=text,
                    bindings=(binding,) if binding else BINDINGS,
                )
            )
            for agent in agents
        ]
    return [task.result() for task in tasks]


# Which agent


def _meant(settings: Settings, url: str | None) -> list[AgentSettings]:
    """The configured agents; with a URL the one that is configured with it, or a new one."""
    if url is None:
        return sorted(settings.agents, key=lambda agent: agent.id)
    for agent in settings.agents:
        if url in card_urls(agent) or _place(url) in map(_place, (agent.url, agent.card_url)):
            return [agent]
    if not url.strip():
        raise ConfigError("URL", found="nothing", accepted="the agent's URL, or its card's")
    is_card = url.partition("?")[0].endswith(".json")
    fields = read_fields(AgentSettings, {"card_url" if is_card else "url": url}, "")
    return [AgentSettings(id=Origin.of(url).host, **fields)]


def _place(url: str) -> tuple[Origin, str] | None:
    try:
        return Origin.of(url), urlsplit(url).path.rstrip("/")
    except (BadUrlError, ValueError):
        return None


def _given(agent: AgentSettings, reach: Reach) -> AgentSettings:
    """The agent with what the command line says of it."""
    given = {
        "allowed_hosts": list(reach.allowed_hosts),
        "allow_insecure": reach.allow_insecure,
        "ca_file": reach.ca_file,
    }
    changes = read_fields(AgentSettings, {name: v for name, v in given.items() if v}, "")
    if reach.auth:
        changes["auth"] = read_auth(list(reach.auth), "auth")
    return msgspec.structs.replace(agent, **changes)


# How it reads


def _report(checkups: Sequence[Checkup]) -> Iterator[str]:
    for number, checkup in enumerate(checkups):
        if number:
            yield ""
        yield from _lines(checkup)


def _lines(checkup: Checkup) -> Iterator[str]:
    named = f"{checkup.name} {checkup.version}".strip() or checkup.agent_id
    yield from _wrapped(f"{named} at {checkup.url}")
    used = checkup.interface
    if used is not None:
        yield from _wrapped(f"A2A {used.protocol_version} over {used.binding} at {used.url}")
        streams = "streams" if checkup.streaming else "does not stream"
        yield f"The card says that it {streams} and {'pushes' if checkup.push else 'does not push'}."
    yield ""
    for step in checkup.steps:
        mark = click.style(f"{_OUTCOMES[step.outcome]:<7}", fg=_COLOURS[step.outcome])
        first, *more = _wrapped(f"{step.name}: {step.words}", " " * 9) or [""]
        yield f"  {mark}{first[9:]}"
        yield from more
    if checkup.refusals:
        yield from ("", "Refused:")
        for refusal in checkup.refusals:
            yield from _item(refusal.code, [("", refusal.message)])
    if checkup.findings:
        yield from ("", "Other than in A2A 1.0:")
        for found in checkup.findings:
            said = [("seen", found.seen), ("expected", found.expected)]
            yield from _item(f"{found.code} ({found.method})", said)
    if checkup.left_behind:
        yield from ("", "Left behind at the agent:")
        for left in checkup.left_behind:
            yield from _wrapped(f"- {left}", "    ", "  ")
    yield ""
    yield _sum(checkup)


def _item(title: str, said: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield from _wrapped(click.unstyle(title), "  ")
    for label, words in said:
        lead = f"    {label}:".ljust(14) if label else "    "
        yield from _wrapped(words, " " * len(lead), lead)


def _sum(checkup: Checkup) -> str:
    if checkup.ok:
        return click.style("Nothing is wrong.", fg="green")
    parts = []
    for count, what in ((len(checkup.refusals), "refusal"), (len(checkup.findings), "deviation")):
        if count:
            parts.append(f"{count} {what}{'' if count == 1 else 's'}")
    return click.style(f"{' and '.join(parts)}.", fg="red")


def _wrapped(text: str, indent: str = "", first: str | None = None) -> list[str]:
    """The text in lines of at most 80 characters, whatever an agent has put into it."""
    return textwrap.wrap(
        " ".join(clean(text).split()),
        width=min(WIDTH, max(shutil.get_terminal_size().columns, 40)),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
