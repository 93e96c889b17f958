"""An access token is renewed now and then; what an agent quotes may be the one before."""

import httpx

from locum.adapters.a2a.wire.asked import Asked, RecentCredentials


def _asked(token: str, before: RecentCredentials) -> Asked:
    headers = {"Authorization": f"Bearer {token}"}
    return Asked(httpx.Request("GET", "https://a.example", headers=headers), b"", before)


def test_a_token_that_was_renewed_is_masked() -> None:
    """G8: a result that quotes the headers of an earlier request shows nothing of their token."""
    before = RecentCredentials()
    _asked("first-token", before)
    asked = _asked("second-token", before)
    odd: list[str] = []
    body = asked.veiled(b'{"sent": "Bearer first-token", "and": "second-token"}', odd)
    assert body == b'{"sent":"****","and":"****"}'
    assert odd == ["json.secret_quoted"]
    assert asked.masked("first-token is old") == "**** is old"


def test_only_the_latest_are_kept() -> None:
    """J3: credentials that are new with each request do not make it grow."""
    before = RecentCredentials()
    for number in range(1000):
        _asked(f"token-{number}", before)
    _asked("token-999", before)
    kept = list(before)
    assert len(kept) == 32
    assert kept[-1] == "token-999"
    assert "token-900" not in kept
