"""`locum agents`: fetch every agent's card, and show who takes work and why the others do not.

With `--check` each is looked at much closer; what is done then is in `checking.py`.
"""

import asyncio
import logging
from pathlib import Path

import rich_click as click

from ..a2a.cards.accepting import BINDINGS
from ..a2a.interface import Binding
from ..a2a.registry import Registry
from .checking import MESSAGE, Reach, check_agents
from .options import config_option, json_option, load_settings, refusable
from .output import console, print_json, waiting
from .reaching import credential_tables, reaching_options
from .show import agent_entries, print_entries

__all__ = ["agents"]


@click.command()
@click.argument("url", metavar="[URL]", required=False)
@click.option("--check", is_flag=True, help="Play a harmless round and list every deviation.")
@click.option("--message", default=MESSAGE, help="With --check: what the agent is sent.")
@click.option("--binding", type=click.Choice(BINDINGS), help="With --check: only over this one.")
@reaching_options
@config_option
@json_option
@refusable
def agents(
    url: str | None,
    check: bool,
    message: str,
    binding: Binding | None,
    bearer_env: str | None,
    auth: str | None,
    allowed_hosts: tuple[str, ...],
    allow_insecure: bool,
    ca_file: str,
    config: Path | None,
    as_json: bool,
) -> None:
    """Show which agents take work, and why the others do not.

    Each card is fetched and judged now, as the server does it. With --check a message is sent to
    each agent as well, or to the one at URL (its own, or its card's, which ends in .json), and
    everything is listed that is other than in A2A 1.0; exit status 1 when there is something.
    """
    # A refusal is the answer here; it need not be warned of as well.
    logging.getLogger("locum").addHandler(logging.NullHandler())
    if check:
        tables = credential_tables(bearer_env, auth)
        reach = Reach(tables, allowed_hosts, allow_insecure, ca_file, binding)
        settings = load_settings(config)
        if not check_agents(settings, url, reach, text=message, as_json=as_json):
            raise SystemExit(1)
        return
    if url is not None:
        raise click.UsageError("A URL is for --check; the agents of the configuration are listed.")
    asyncio.run(_agents(config, as_json=as_json))


async def _agents(config: Path | None, *, as_json: bool) -> None:
    settings = load_settings(config)
    server = settings.server
    # With port 0 only the running server knows where `self` is.
    serves_itself = bool(
        settings.card and settings.card.executor and (server.base_url or server.port)
    )
    own_url = server.own_url if serves_itself else None
    with waiting("fetching the cards"):
        async with Registry(settings, own_url=own_url, patience=None) as registry:
            found = registry.agents()
    if as_json:
        print_json({"agents": found})
    elif found:
        print_entries(console(), agent_entries(found))
    else:
        click.echo("No agent is configured.")
