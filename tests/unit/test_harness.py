"""The facade before it is entered."""

import pytest

from locum.adapters import Harness, Settings
from locum.core.errors import ServerError


async def test_a_harness_that_was_not_entered() -> None:
    """J2: it says what to do, and not what it has not got yet."""
    harness = Harness(Settings.from_mapping({}))
    with pytest.raises(ServerError, match="async with") as caught:
        await harness.spawn("p", agent="a", goal="count")
    assert caught.value.code == "server.not_open"
    with pytest.raises(ServerError):
        harness.roster()
    with pytest.raises(AttributeError, match="no attribute 'rooster'"):
        harness.rooster()
