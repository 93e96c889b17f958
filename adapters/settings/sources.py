"""Where settings come from: a TOML file, then the environment laid over it. Judges no value.

The outcome is one nested mapping; what the environment gave is an EnvText in it, to be read by
the rule of its key. `LOCUM_<SECTION>__<KEY>` is a section's key, `LOCUM_AGENTS__<ID>__<KEY>` an
agent's, by its id (in capitals, `_` for any other sign) or by its place in the list.
"""

import copy
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from locum.core.errors import ConfigError

from .rules import EnvText, plain, refuse

__all__ = ["overlay", "read_toml"]

_PREFIX = "LOCUM_"


def read_toml(path: Path) -> dict[str, Any]:
    """The file's tables. Raises ConfigError when it cannot be read or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            str(path), found=f"no readable file ({reason})", accepted="a TOML file"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            str(path), found=f"a byte at {error.start} that is not UTF-8", accepted="UTF-8 text"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), found=f"no TOML: {error}", accepted="a TOML file") from None


def overlay(tables: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """`tables` with the environment's values laid over them. Raises ConfigError."""
    merged: dict[str, Any] = copy.deepcopy(dict(tables))
    # Sorted, so that an agent's own name for itself comes before what is addressed to it, and a
    # whole table before a key in it.
    for name in sorted(environ):
        section, *keys = name.removeprefix(_PREFIX).split("__")
        if not name.startswith(_PREFIX) or not keys:
            continue
        value = EnvText(environ[name], name)
        if section == "AGENTS":
            _put_in_agent(merged, keys, value)
        else:
            _put(merged, [section.lower(), *(key.lower() for key in keys)], value)
    return merged


def _put(table: dict[str, Any], keys: list[str], value: EnvText) -> None:
    *heads, last = keys
    path = ""
    for head in heads:
        path = f"{path}.{head}" if path else head
        inner = plain(table.setdefault(head, {}), path)
        if not isinstance(inner, dict):
            raise refuse(inner, path, f"a table, since {value.name} is set", secret=True)
        table[head] = table = inner
    table[last] = value


def _put_in_agent(merged: dict[str, Any], keys: list[str], value: EnvText) -> None:
    agents = merged.setdefault("agents", [])
    if not isinstance(agents, list) or not all(isinstance(agent, dict) for agent in agents):
        return  # No list of tables: the reader refuses it with its path.
    which, *rest = keys
    if not rest:
        accepted = f"{value.name}__<KEY>"
        raise ConfigError(f"agents.{which.lower()}", found=value.name, accepted=accepted)
    agent = _agent(agents, which, value)
    _put(agent, [key.lower() for key in rest], value)


def _agent(agents: list[dict[str, Any]], which: str, value: EnvText) -> dict[str, Any]:
    named = [agent for agent in agents if _env_name(agent.get("id")) == which]
    if len(named) == 1:
        return named[0]
    if named:
        ids = ", ".join(str(agent["id"]) for agent in named)
        raise ConfigError(
            f"agents.{which.lower()}",
            found=f"{value.name}, which may mean {ids}",
            accepted=f"the agent's place in the list: {_PREFIX}AGENTS__0__… and so on",
        )
    if which.isdecimal():
        place = int(which)
        if place < len(agents):
            return agents[place]
        if place > len(agents):
            accepted = f"an agent's id or a place up to {len(agents)}"
            raise ConfigError(f"agents[{which}]", found=value.name, accepted=accepted)
        agents.append({})
    else:
        agents.append({"id": which.lower()})
    return agents[-1]


def _env_name(agent_id: Any) -> str:
    return re.sub(r"[^A-Z0-9_]", "_", agent_id.upper()) if isinstance(agent_id, str) else ""
