"""docs/upstream.md: every fault on it is reproduced by a test beside this one, and no other."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "upstream.md"


def test_every_fault_on_the_page_is_reproduced() -> None:
    """K4: what is told upstream is shown here, each by its name, and nothing else."""
    page = set(re.findall(r"^### `([a-z0-9-]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    here = Path(__file__).parent
    shown = set()
    for path in here.glob("test_upstream_*.py"):
        for docstring in re.findall(
            r'"""[A-K]\d.*?"""', path.read_text(encoding="utf-8"), re.DOTALL
        ):
            named = re.search(r"\(([a-z0-9-]+)\)\.", docstring)
            shown |= {named[1]} if named else set()
    assert shown == page
