"""Server-sent events are read right however their bytes are cut, and never without a bound."""

import pytest

from locum.adapters.a2a.wire.faults import TooLargeError
from locum.adapters.a2a.wire.sse import Event, Kind, SseParser, sniff

BOM = b"\xef\xbb\xbf"
EVERY_SIZE = (1, 2, 3, 5, 7, 1000)


def events_of(stream: bytes, size: int = 1000, limit: int = 10_000) -> list[Event]:
    """The events of a stream that comes in pieces of `size` bytes."""
    parser = SseParser(limit)
    found = []
    for start in range(0, len(stream), size):
        found += parser.feed(stream[start : start + size])
    last = parser.finish()
    return found if last is None else [*found, last]


def datas(stream: bytes, size: int = 1000) -> list[bytes]:
    """The data of its events."""
    return [event.data for event in events_of(stream, size)]


def drip(parser: SseParser, piece: bytes) -> None:
    """The same small piece, many times; none of them completes an event."""
    for _ in range(10_000):
        assert not list(parser.feed(piece))


@pytest.mark.parametrize("size", EVERY_SIZE)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_each_line_end_ends_a_line(end: bytes, size: int) -> None:
    """K1: LF, CR LF and CR end a line, wherever the bytes are cut."""
    stream = end.join([b"data: one", b"data: two", b"", b"data:three", b"", b""])
    assert datas(stream, size) == [b"one\ntwo", b"three"]


@pytest.mark.parametrize("size", EVERY_SIZE)
def test_line_ends_may_be_mixed(size: int) -> None:
    """K1, case S4, case S5: mixed line ends in one stream make neither an empty nor a lost event."""
    stream = b"data: a\r\n\ndata: b\r\r\ndata: c\n\r\n\rdata: d\r\n\r\n"
    assert datas(stream, size) == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_cut_cr_lf_is_one_end(cut: int) -> None:
    """K1, case S5: CR LF cut between its two bytes, at any of the ends of an event, ends one line."""
    stream = b"data: x\r\n\r\ndata: y\r\n\r\n"
    parser = SseParser(1000)
    found = [*parser.feed(stream[:cut]), *parser.feed(b""), *parser.feed(stream[cut:])]
    assert [event.data for event in found] == [b"x", b"y"]


def test_a_cr_ends_its_line_at_once() -> None:
    """K1: an event that ends in CR CR is dispatched without waiting for what comes next."""
    assert [event.data for event in SseParser(100).feed(b"data: now\r\r")] == [b"now"]


@pytest.mark.parametrize("size", EVERY_SIZE)
def test_unicode_line_ends_are_text(size: int) -> None:
    """K1: U+2028, U+2029, U+0085, VT and FF inside of a line do not end it."""
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode()
    assert datas(b"data: " + text + b"\n\n", size) == [text]


@pytest.mark.parametrize("size", EVERY_SIZE)
def test_a_split_character_stays_whole(size: int) -> None:
    """K1: a UTF-8 character that is cut between two pieces is put together again."""
    text = "ä€𝄞".encode()
    assert datas(b"data: " + text + b"\n\n", size) == [text]


@pytest.mark.parametrize("size", EVERY_SIZE)
def test_a_byte_order_mark_is_skipped(size: int) -> None:
    """K1: one byte order mark before the stream is none of its first field's name."""
    parser = SseParser(100)
    stream = BOM + b"data: x\n\n" + BOM + b"data: y\n\n"
    found = [e for i in range(0, len(stream), size) for e in parser.feed(stream[i : i + size])]
    assert [event.data for event in found] == [b"x"]
    assert parser.bom


def test_without_a_mark_none_is_seen() -> None:
    """K1: what only begins like a byte order mark is kept."""
    parser = SseParser(100)
    assert not list(parser.feed(b"\xef\xbb"))
    assert [e.data for e in parser.feed(b"x\ndata: y\n\n")] == [b"y"]
    assert not parser.bom


def test_what_carries_nothing_gives_nothing() -> None:
    """K1, case S2, case S3: comments, ids, retry times and unknown fields are no events; empty data
    is one.
    """
    stream = b": ping\n:\n\nid: 1\nretry: 5\nfoo: bar\nbaz\n\nid: 2\ndata:\n\ndata: \n\ndata\n\n"
    assert events_of(stream) == [Event(b"", b"")] * 3


def test_names_and_leading_spaces() -> None:
    """K1: one space after the colon is no data, a second one is; a name is its event's only."""
    stream = b"event: error\ndata:  x\n\ndata:y\n\nevent: lost\n\ndata: z\n\n"
    assert events_of(stream) == [Event(b"error", b" x"), Event(b"", b"y"), Event(b"", b"z")]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n"])
def test_the_last_event_needs_no_blank_line(end: bytes) -> None:
    """K1: a last event without its blank line is dispatched, and known to be one."""
    stream = b"data: a\n\ndata: b\ndata: c" + end
    assert events_of(stream) == [Event(b"", b"a"), Event(b"", b"b\nc", finished=False)]


def test_an_endless_line_is_refused() -> None:
    """J3: a line without an end is given up at the limit, however small its pieces are."""
    parser = SseParser(1000)
    with pytest.raises(TooLargeError) as refused:
        drip(parser, b": x")
    assert refused.value.limit == 1000


@pytest.mark.parametrize("line", [b"data: 0123456789\n", b"data:\n", b"data\n"])
def test_an_endless_event_is_refused(line: bytes) -> None:
    """J3: an event of lines without an end is given up at the limit; empty lines count too."""
    parser = SseParser(1000)
    with pytest.raises(TooLargeError):
        drip(parser, line)


def test_an_event_of_just_the_limit_is_read() -> None:
    """J3, case S7: the limit is for the data; its last byte still fits."""
    assert events_of(b"data: " + b"x" * 1000 + b"\n\n", limit=1000) == [Event(b"", b"x" * 1000)]
    with pytest.raises(TooLargeError):
        events_of(b"data: " + b"x" * 1001 + b"\n\n", limit=1000)


@pytest.mark.parametrize(
    "head,declared,kind",
    [
        (b'{"a":1}', "json", "json"),
        (b' \r\n {"a', "sse", "json"),
        (BOM + b"[", "words", "json"),
        (BOM[:1], "words", None),
        (BOM[:2], "json", None),
        (BOM[:1] + b"x", "words", "words"),
        (BOM, "words", None),
        (b"data: x", "words", "sse"),
        (b"event:x", "json", "sse"),
        (b"id\n", "words", "sse"),
        (b"\n\n: ping", "words", "sse"),
        (b"anything", "sse", "sse"),
        (b"", "sse", "sse"),
        (b"", "json", None),
        (b"  \n", "words", None),
        (b"dat", "words", None),
        (b"retry", "words", None),
        (b"date: x", "words", "words"),
        (b"<html>", "words", "words"),
        (b"<html>", "json", "json"),
    ],
)
def test_the_bytes_count_more_than_the_content_type(
    head: bytes, declared: Kind, kind: Kind | None
) -> None:
    """K1: a missing or wrong content type is made up for by the first bytes of the body."""
    assert sniff(head, declared) == kind
