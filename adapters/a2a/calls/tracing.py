"""A span and a W3C `traceparent` for each call to an agent, when tracing is on (C9).

A span never holds what was said, a credential or an agent's error text (G8): a method, an id, a code.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from locum.core.errors import RemoteCallError

__all__ = ["traced"]

_TRACER = trace.get_tracer("locum")
# Not the propagator that the process is set up with: that may write no `traceparent`, and would hand
# the baggage of whoever called us to a foreign agent.
_W3C = TraceContextTextMapPropagator()


@contextmanager
def traced(
    method: str, agent_id: str, task_id: str, *, entropy: Callable[[int], bytes]
) -> Iterator[dict[str, str]]:
    """Trace one call; gives the headers that carry the trace on.

    Without a tracer provider nothing is recorded, but the agent still gets a valid `traceparent`:
    the surrounding trace's, or one made from `entropy`, which gives so many random bytes.
    """
    attributes = {"locum.agent": agent_id, "locum.remote_task": task_id, "rpc.method": method}
    span = _TRACER.start_span(f"a2a {method}", kind=SpanKind.CLIENT, attributes=attributes)
    if not span.get_span_context().is_valid:
        span = _unrecorded(entropy)
    headers: dict[str, str] = {}
    # Only the headers are made in this span's context: it is not made the current one, since a
    # stream is read in whatever context its reader happens to be.
    _W3C.inject(headers, context=trace.set_span_in_context(span))
    try:
        yield headers
    except RemoteCallError as error:
        span.set_status(Status(StatusCode.ERROR, error.code))
        raise
    finally:
        span.end()


def _unrecorded(entropy: Callable[[int], bytes]) -> Span:
    return NonRecordingSpan(
        SpanContext(
            trace_id=int.from_bytes(entropy(16), "big") or 1,
            span_id=int.from_bytes(entropy(8), "big") or 1,
            is_remote=False,
            trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
        )
    )
