"""What holds for every test: its id, how long hypothesis looks, and that nothing is left running.

Fixtures about locum itself belong beside the tests that use them.
"""

import asyncio
import gc
import inspect
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, settings

# The suite tries the same examples every time, so that a red run can be run again; `make fuzz`
# looks on from fresh seeds. A test that sets its own `max_examples` is not fuzzed any longer by it.
settings.register_profile(
    "suite",
    deadline=None,  # a busy machine is no failure
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz", settings.get_profile("suite"), derandomize=False, max_examples=5_000
)
settings.load_profile("suite")

_SECONDS_TO_END = 5.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """An id with an object's address in it is another one in each process of `make test`."""
    if drifting := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError("give these parameters an id of their own: " + ", ".join(drifting))


def pytest_collection_finish() -> None:
    """Keep what was only imported out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _nothing_left_by_a_module() -> Iterator[None]:
    """D11: no thread outlives its module's tests, and what they left unclosed is warned of."""
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(_SECONDS_TO_END)
    assert not [thread for thread in left if thread.is_alive()], "threads outlive the module"
    gc.collect()


@pytest.fixture(autouse=True)
def _no_task_left(request: pytest.FixtureRequest) -> None:
    """D11: no task outlives its test."""
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("_loop_without_tasks")


@pytest.fixture
async def _loop_without_tasks() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if left:
        # A task that has just been told to end may need a turn of the loop to do it.
        _, left = await asyncio.wait(left, timeout=_SECONDS_TO_END)
    assert not left, "tasks outlive the test"
