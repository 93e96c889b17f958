"""The machine, shown: as Mermaid, as a Markdown table, as an SVG. All drawn from `Lifecycle`'s table.

Nothing here knows which transition is legal; only the drawing's places are laid by hand.
"""

from .lifecycle import TABLE, TERMINAL, A2AState, Lifecycle, Trigger

__all__ = ["markdown_table", "mermaid", "svg"]

ILLEGAL = "·"


def _edges() -> dict[tuple[A2AState, A2AState], list[Trigger]]:
    """The triggers from one state to another, in the order in which the states were declared."""
    edges: dict[tuple[A2AState, A2AState], list[Trigger]] = {}
    for (source, trigger), target in sorted(TABLE.items(), key=_declared):
        edges.setdefault((source, target), []).append(trigger)
    return edges


def _declared(entry: tuple[tuple[A2AState, Trigger], A2AState]) -> tuple[int, int, int]:
    (source, trigger), target = entry
    states, triggers = list(A2AState), list(Trigger)
    return states.index(source), states.index(target), triggers.index(trigger)


def mermaid() -> str:
    """A Mermaid `stateDiagram-v2` of the machine, ending in a line break."""
    lines = ["stateDiagram-v2", f"    [*] --> {_initial()}"]
    lines += [
        f"    {source} --> {target}: {' / '.join(triggers)}"
        for (source, target), triggers in _edges().items()
    ]
    lines += [f"    {state} --> [*]" for state in A2AState if state in TERMINAL]
    return "\n".join(lines) + "\n"


def _initial() -> A2AState:
    return A2AState(next(state.value for state in Lifecycle.states if state.initial))


def markdown_table() -> str:
    """Every state by every trigger, with the state after it; ends in a line break.

    A dot stands for a pair that the machine does not allow.
    """
    lines = [
        "| state | " + " | ".join(f"`{trigger}`" for trigger in Trigger) + " |",
        "| --- |" + " --- |" * len(Trigger),
    ]
    for state in A2AState:
        cells = [TABLE.get((state, trigger), ILLEGAL) for trigger in Trigger]
        lines.append(f"| {state} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


# --- the drawing: places by hand, in the units of the view box

_WIDTH, _HEIGHT = 960, 470
_BOX = (156, 46)
_FRAME = (20, 20, 660, 430)
_PLACES = {
    A2AState.SUBMITTED: (118, 235),
    A2AState.WORKING: (356, 235),
    A2AState.INPUT_REQUIRED: (560, 105),
    A2AState.AUTH_REQUIRED: (560, 365),
    A2AState.COMPLETED: (860, 76),
    A2AState.FAILED: (860, 182),
    A2AState.CANCELED: (860, 288),
    A2AState.REJECTED: (860, 394),
}
_KINDS = {
    A2AState.SUBMITTED: "plain",
    A2AState.WORKING: "busy",
    A2AState.INPUT_REQUIRED: "parked",
    A2AState.AUTH_REQUIRED: "parked",
    A2AState.COMPLETED: "good",
    A2AState.FAILED: "bad",
    A2AState.CANCELED: "plain",
    A2AState.REJECTED: "bad",
}
_S, _W = A2AState.SUBMITTED, A2AState.WORKING
_I, _A = A2AState.INPUT_REQUIRED, A2AState.AUTH_REQUIRED
_PATHS = {
    (_S, _S): ("M 58 258 C 44 306, 112 306, 98 258", 78, 310),
    (_S, _W): ("M 196 235 L 278 235", 236, 226),
    (_S, _I): ("M 140 212 C 142 124, 300 92, 482 96", 268, 104),
    (_S, _A): ("M 140 258 C 142 346, 300 378, 482 374", 268, 378),
    (_W, _W): ("M 318 258 C 302 306, 382 306, 366 258", 342, 312),
    (_W, _I): ("M 330 212 C 340 160, 400 122, 482 114", 366, 146),
    (_W, _A): ("M 392 258 C 404 316, 430 348, 482 356", 400, 336),
    (_I, _W): ("M 520 128 C 504 178, 476 214, 434 226", 452, 186),
    (_A, _W): ("M 520 342 C 504 292, 476 256, 434 244", 452, 296),
    (_I, _I): ("M 528 82 C 512 34, 608 34, 592 82", 560, 40),
    (_A, _A): ("M 528 388 C 512 436, 608 436, 592 388", 560, 438),
    (_I, _A): ("M 610 128 C 634 200, 634 270, 610 342", 632, 212),
    (_A, _I): ("M 574 342 C 590 270, 590 200, 574 128", 586, 262),
}
_STYLE = """
  svg { font: 13px ui-sans-serif, system-ui, sans-serif; color: #1f2937; }
  .frame { fill: none; stroke: #9ca3af; stroke-dasharray: 5 5; }
  .box { stroke-width: 1.5; }
  .plain { fill: #f3f4f6; stroke: #6b7280; }
  .busy { fill: #dbeafe; stroke: #2563eb; }
  .parked { fill: #fef3c7; stroke: #b45309; }
  .good { fill: #dcfce7; stroke: #15803d; }
  .bad { fill: #fee2e2; stroke: #b91c1c; }
  .edge { fill: none; stroke: #4b5563; stroke-width: 1.4; }
  .tip { fill: #4b5563; }
  text { fill: #1f2937; text-anchor: middle; }
  .state { font-weight: 600; font-size: 12.5px; }
  .trigger { font-style: italic; paint-order: stroke; stroke: #ffffff; stroke-width: 5px; }
  .note { fill: #6b7280; text-anchor: start; }
"""


def svg() -> str:
    """An SVG of the machine, self-contained, ending in a line break.

    Each arrow has a title `trigger: sources → target`. An arrow from the frame starts at every
    state in it. Raises KeyError for a transition that has no place in the drawing yet.
    """
    body = [_frame(), _start()]
    unresolved = [state for state in A2AState if state not in TERMINAL]
    for (source, target), triggers in _edges().items():
        if target not in TERMINAL:
            path, x, y = _PATHS[source, target]
            body.append(_arrow(path, triggers, [source], target, x, y))
    for target in (state for state in A2AState if state in TERMINAL):
        shared = [t for t in Trigger if all(TABLE.get((s, t)) is target for s in unresolved)]
        x, y = _PLACES[target]
        right, left = _FRAME[0] + _FRAME[2], x - _BOX[0] // 2 - 2
        middle = (right + left) // 2
        body.append(
            _arrow(f"M {right} {y} L {left} {y}", shared, unresolved, target, middle, y - 8)
        )
    body += [_box(state) for state in A2AState]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="The states of a sub-task">\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>\n'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path class="tip" d="M 0 1 L 10 5 L 0 9 z"/></marker>'
        "</defs>\n" + "\n".join(body) + "\n</svg>\n"
    )


def _frame() -> str:
    x, y, width, height = _FRAME
    return (
        f'<rect class="frame" x="{x}" y="{y}" width="{width}" height="{height}" rx="14"/>\n'
        f'<text class="note" x="{x + 16}" y="{y + 26}">unresolved</text>'
    )


def _start() -> str:
    x, y = _PLACES[_initial()]
    x, top = x - _BOX[0] // 4, y - _BOX[1] // 2
    return (
        f'<circle class="tip" cx="{x}" cy="{top - 36}" r="5"/>\n'
        f'<path class="edge" marker-end="url(#tip)" d="M {x} {top - 36} L {x} {top}"/>'
    )


def _arrow(
    path: str, triggers: list[Trigger], sources: list[A2AState], target: A2AState, x: int, y: int
) -> str:
    label = " / ".join(triggers)
    return (
        f"<g><title>{label}: {', '.join(sources)} → {target}</title>"
        f'<path class="edge" marker-end="url(#tip)" d="{path}"/>'
        f'<text class="trigger" x="{x}" y="{y}">{label}</text></g>'
    )


def _box(state: A2AState) -> str:
    (x, y), (width, height) = _PLACES[state], _BOX
    return (
        f'<rect class="box {_KINDS[state]}" x="{x - width // 2}" y="{y - height // 2}"'
        f' width="{width}" height="{height}" rx="9"/>'
        f'<text class="state" x="{x}" y="{y + 5}">{state}</text>'
    )
