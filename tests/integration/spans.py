"""A tracer that keeps its spans, and spans that tell what was put into them."""

from typing import Any

from opentelemetry import trace

__all__ = ["SpanOfTest", "TracerOfTest"]


class SpanOfTest(trace.NonRecordingSpan):
    """A span that tells what was put into it."""

    def __init__(self, name: str, attributes: Any) -> None:
        super().__init__(trace.SpanContext(1, 2, is_remote=False))
        self.said: list[Any] = [name, dict(attributes)]
        self.is_over = False

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.said.append((status.status_code.name, status.description, description))

    def record_exception(self, *args: Any, **more: Any) -> None:
        self.said.append((args, more))

    def end(self, end_time: int | None = None) -> None:
        self.is_over = True


class TracerOfTest(trace.NoOpTracer):
    """Keeps the spans that it starts."""

    def __init__(self) -> None:
        self.spans: list[SpanOfTest] = []

    def start_span(self, name: str, *args: Any, attributes: Any = None, **more: Any) -> trace.Span:
        self.spans.append(SpanOfTest(name, attributes))
        return self.spans[-1]
