"""Cards as they are read: where they are looked for, what is none, how long one is good."""

import json

import pytest
from a2a.types.a2a_pb2 import AgentCard

from locum.adapters.a2a.cards.accepting import digest_of
from locum.adapters.a2a.cards.cache import freshness_of
from locum.adapters.a2a.cards.fetch import card_urls
from locum.adapters.a2a.cards.parse import parse_card
from locum.adapters.settings import Settings
from locum.core.errors import CardError

from .cards import card, interface


@pytest.mark.parametrize(
    "body, said",
    [
        ("{}", "name, description, version, supportedInterfaces"),
        ('{"name": "x", "description": "y", "supportedInterfaces": []}', "it lacks version"),
        ('{"name": "x", "description": "y", "version": "1"}', "it lacks supportedInterfaces"),
        ("[]", "no JSON object"),
        ("", "no JSON"),
        ("<html>", "no JSON"),
        ('{"name": {"a": 1}}', "name"),
        ('{"skills": ["x"]}', "structure"),
        ('{"capabilities": {"streaming": "perhaps"}}', "streaming"),
        ('{"securitySchemes": {"a": 1}}', "structure"),
        ('{"a":' * 100_000, "no JSON"),
        ('{"skills": [{"security": 5}]}', "structure"),
        ('{"name": "\\ud800"}', "read"),
        (f'{{"capabilities": {{"extensions": [{{"params": {{"x": 1{"0" * 400}}}}}]}}}}', "number"),
    ],
)
def test_no_valid_card(body: str, said: str) -> None:
    """A4: not JSON, or fields missing or unreadable, named: card.invalid; never a crash."""
    with pytest.raises(CardError, match=said) as caught:
        parse_card(body)
    assert caught.value.code == "card.invalid"


def test_lists_may_be_missing() -> None:
    """A2, case C5: a card without skills, modes and capabilities has none of them."""
    body = {"name": "x", "description": "y", "version": "1", "supportedInterfaces": [interface()]}
    one = parse_card(json.dumps(body))
    assert (len(one.skills), one.capabilities.streaming) == (0, False)


def test_where_the_card_is_looked_for() -> None:
    """A2, case C2, case C3: below the URL with or without its slash, then at the origin; or at
    card_url.
    """

    def places(**agent: str) -> tuple[str, ...]:
        return card_urls(Settings.from_mapping({"agents": [{"id": "a"} | agent]}).agents[0])

    well_known = ".well-known/agent-card.json"
    assert places(url="https://a.example") == (f"https://a.example/{well_known}",)
    assert places(url="https://a.example/") == (f"https://a.example/{well_known}",)
    assert places(url="https://a.example:8443/team/x/") == (
        f"https://a.example:8443/team/x/{well_known}",
        f"https://a.example:8443/{well_known}",
    )
    assert places(url="https://a.example/x", card_url="https://b.example/c.json?v=1") == (
        "https://b.example/c.json?v=1",
    )


def test_the_digest_is_of_the_card_and_not_of_its_spelling() -> None:
    """A11: the digest is the same for the same card, and another for another."""
    one = card(skills=[{"id": "a", "name": "b", "description": "c", "tags": ["d"]}])
    again = AgentCard()
    again.CopyFrom(one)
    again.signatures.add(protected="a", signature="anew for each request")
    assert digest_of(one) == digest_of(again)
    assert len(digest_of(one)) == 64
    assert digest_of(card(name="Other")) != digest_of(card())


# How long it may be used


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({}, None),
        ({"cache-control": "max-age=60"}, 60.0),
        ({"cache-control": 'public, Max-Age="60"'}, 60.0),
        ({"cache-control": "max-age=60", "age": "20"}, 40.0),
        ({"cache-control": "max-age=60", "age": "90"}, 0.0),
        ({"cache-control": "max-age=soon"}, 0.0),
        ({"cache-control": "max-age=99999999"}, 86400.0),
        ({"cache-control": "no-cache, max-age=60"}, 0.0),
        ({"cache-control": "no-store"}, 0.0),
        ({"cache-control": "public"}, None),
        (
            {
                "date": "Fri, 30 Jan 2026 10:00:00 GMT",
                "expires": "Fri, 30 Jan 2026 10:01:00 GMT",
            },
            60.0,
        ),
        ({"expires": "0", "date": "Fri, 30 Jan 2026 10:00:00 GMT"}, 0.0),
    ],
)
def test_freshness(headers: dict[str, str], seconds: float | None) -> None:
    """A11: a card is cached by HTTP's rules: max-age, Age, no-cache, no-store, Expires."""
    assert freshness_of(headers).seconds == seconds


def test_conditions_of_the_next_request() -> None:
    """A11: the next request asks with what the last answer gave; a 304 keeps what it leaves out."""
    first = freshness_of({"etag": 'W/"1"', "last-modified": "yesterday"})
    assert first.conditions == {"If-None-Match": 'W/"1"', "If-Modified-Since": "yesterday"}
    second = freshness_of({"cache-control": "max-age=5"}, first)
    assert (second.seconds, second.conditions) == (5.0, first.conditions)
    assert freshness_of({"cache-control": "no-store", "etag": "x"}).conditions == {}


DAY = "Fri, 30 Jan 2026 "


@pytest.mark.parametrize(
    "stored, said, seconds",
    [
        ({"cache-control": "max-age=60"}, {}, 60.0),
        ({"cache-control": "max-age=60", "age": "50"}, {}, 60.0),
        ({"cache-control": "max-age=60"}, {"age": "50"}, 10.0),
        ({"cache-control": "no-cache"}, {}, 0.0),
        ({"cache-control": "no-cache"}, {"cache-control": "max-age=60"}, 60.0),
        ({"cache-control": "max-age=60"}, {"cache-control": "no-cache"}, 0.0),
        ({"cache-control": "max-age=60"}, {"cache-control": "no-store"}, 0.0),
        (
            {"date": f"{DAY}10:00:00 GMT", "expires": f"{DAY}10:01:00 GMT"},
            {"date": f"{DAY}10:00:40 GMT"},
            20.0,
        ),
        ({"date": f"{DAY}10:00:00 GMT", "expires": f"{DAY}10:01:00 GMT"}, {}, 0.0),
        ({}, {}, None),
    ],
)
def test_what_a_304_leaves_out_stays(
    stored: dict[str, str], said: dict[str, str], seconds: float | None
) -> None:
    """A11: fields that a 304 does not name keep their stored values (RFC 9111, 3.2 and 4.3.4).

    But for those that are each answer's own, `Age` and `Date`.
    """
    once = freshness_of(said, freshness_of({"etag": '"1"'} | stored))
    assert once.seconds == seconds
    if "no-store" not in said.get("cache-control", ""):
        assert freshness_of(said, once) == once
        assert once.conditions == {"If-None-Match": '"1"'}
