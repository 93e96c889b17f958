"""What `locum serve` logs to standard error: a line for each record, whatever is in it (B4)."""

import asyncio
import sys

SAYS = """
import logging
from locum.adapters.serving import log_to_stderr

log_to_stderr()
logger = logging.getLogger("locum.agents")
logger.debug("not at this level")
logger.info("two\\nlines\\r\\nand \\x1b[31mred")
try:
    raise ValueError("of two\\nlines")
except ValueError:
    logger.exception("it failed")
"""


async def test_a_record_is_one_line() -> None:
    """B4: line breaks and controls in a message, and a traceback, leave a record on its one line,
    which has the level's name in it.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SAYS, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    said, failed = err.decode().splitlines()
    assert out == b""
    assert " INFO locum.agents: two ⏎ lines ⏎ and " in said
    assert " ERROR locum.agents: it failed ⏎ Traceback" in failed
    assert "ValueError: of two ⏎ lines" in failed
    assert "\x1b" not in said
