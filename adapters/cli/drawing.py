"""`locum machine`: the state machine, drawn. Knows no store and no server."""

from pathlib import Path

import rich_click as click

from locum.core.errors import RequestError
from locum.core.lifecycle import TABLE
from locum.core.render import mermaid, svg

from .options import json_option, refusable
from .output import print_json

__all__ = ["machine"]


@click.command()
@click.option("--mermaid", "as_mermaid", is_flag=True, help="As a Mermaid diagram (the default).")
@click.option(
    "--svg",
    "svg_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="F",
    help="As a drawing in file F.",
)
@json_option
@refusable
def machine(as_mermaid: bool, svg_file: Path | None, as_json: bool) -> None:
    """Draw the state machine."""
    if svg_file is not None:
        try:
            svg_file.write_text(svg(), encoding="utf-8")
        except OSError as error:
            raise RequestError(f"--svg {svg_file}: {error.strerror}.") from error
        click.echo(f"wrote {svg_file}", err=True)
    if as_json:
        print_json(
            {
                "transitions": [
                    {"from": source, "trigger": trigger, "to": target}
                    for (source, trigger), target in TABLE.items()
                ]
            }
        )
    elif as_mermaid or svg_file is None:
        click.echo(mermaid())
