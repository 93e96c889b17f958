"""Finding the a2a-sdk AgentExecutor of `self` by its configured name (A9). Runs nothing of it."""

import importlib
import inspect

from a2a.server.agent_execution import AgentExecutor

from locum.core.errors import ConfigError

__all__ = ["load_executor"]

_KEY = "card.executor"
_ACCEPTED = (
    '"package.module:attribute" that names an AgentExecutor, its class, or a function without'
    " arguments that makes one"
)


def load_executor(name: str) -> AgentExecutor:
    """The executor that `package.module:attribute` names; a class or a function is called.

    Raises ConfigError when it cannot be imported, is not there, or is none.
    """
    module_name, _, path = name.partition(":")
    if not (module_name and path):
        raise _refuse(f'"{name}"')
    try:
        found: object = importlib.import_module(module_name)
    except Exception as error:  # importing runs foreign code, which may raise anything
        raise _refuse(
            f'"{name}", whose module cannot be imported ({type(error).__name__}: {error})'
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise _refuse(f'"{name}", and {module_name} has no {path}')
        found = getattr(found, part)
    if inspect.isclass(found) or inspect.isfunction(found):
        try:
            found = found()
        except Exception as error:  # as above: it is foreign code
            raise _refuse(
                f'"{name}", which cannot be made ({type(error).__name__}: {error})'
            ) from error
    if not isinstance(found, AgentExecutor):
        raise _refuse(f'"{name}", which is a {type(found).__name__}')
    return found


def _refuse(found: str) -> ConfigError:
    return ConfigError(_KEY, found=found, accepted=_ACCEPTED)
