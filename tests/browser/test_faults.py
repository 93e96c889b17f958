"""The browser's own alarm: a page that is broken cannot pass for one that works."""

from playwright.async_api import Page


async def test_a_page_that_throws_or_logs_an_error_is_noticed(
    page: Page, page_faults: list[str]
) -> None:
    """No rule: both kinds of fault reach the list that fails a test when it is not empty."""
    await page.set_content(
        "<script>console.error('said so'); console.log('fine'); throw new Error('thrown')</script>"
    )

    assert sorted(page_faults) == ["said so", "thrown"]
    page_faults.clear()
