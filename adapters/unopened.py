"""What a harness says when it is used before it is entered. It opens nothing."""

from typing import TYPE_CHECKING, Any, ClassVar

from locum.core.errors import ServerError

__all__ = ["Unopened"]


class Unopened:
    """Base of what has some of its attributes only once it is entered."""

    _made_on_entering: ClassVar[frozenset[str]] = frozenset()

    if not TYPE_CHECKING:  # A checker would take any name for an attribute.

        def __getattr__(self, name: str) -> Any:
            if name in self._made_on_entering:
                raise ServerError(
                    "The harness is not open yet: use it inside `async with Harness(settings) as …:`.",
                    code="server.not_open",
                )
            raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")
