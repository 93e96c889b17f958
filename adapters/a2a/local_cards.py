"""The harnesses of this process by their public URL, so that one's card need not be fetched by
another (A8). Holds how to build each card, and nothing of the harness itself.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import httpx
from a2a.types.a2a_pb2 import AgentCard

from ..origins import Origin

__all__ = ["CardFactory", "local_card", "register_local"]

CardFactory = Callable[[], AgentCard]
"""Builds the card from a harness's settings; quick, and callable from any thread."""

_Place = tuple[Origin, str]

_factories: dict[_Place, list[CardFactory]] = {}
_lock = threading.Lock()


@contextmanager
def register_local(base_url: str, card_factory: CardFactory) -> Iterator[None]:
    """While open, agents configured with `base_url` are given the card of `card_factory`."""
    place = _place(base_url)
    with _lock:
        _factories.setdefault(place, []).append(card_factory)
    try:
        yield
    finally:
        with _lock:
            _factories[place].remove(card_factory)
            if not _factories[place]:
                del _factories[place]


def local_card(url: str) -> CardFactory | None:
    """How to build the card of the harness whose public URL `url` is, if it is in this process."""
    if not url or not _factories:
        return None
    place = _place(url)
    with _lock:
        return _factories[place][-1] if place in _factories else None


@lru_cache(1024)
def _place(url: str) -> _Place:
    return Origin.of(url), httpx.URL(url).path.rstrip("/")
