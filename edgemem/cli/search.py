"""`edgemem search`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, pass_environment, print_json
from edgemem.cli.evidence import print_evidence

if TYPE_CHECKING:
    from edgemem.serve.memory import SearchChannel

CHANNELS = ("frame", "event", "text", "speech", "entity", "any")


@click.command()
@click.argument("query")
@memory_option
@click.option("--channel", type=click.Choice(CHANNELS), default="any", show_default=True, help="Channel to search.")
@click.option("--from", "from_", metavar="ISO8601", help="Only results from this time on.")
@click.option("--to", metavar="ISO8601", help="Only results up to this time.")
@click.option("--top-k", type=click.IntRange(1, 200), default=10, show_default=True, help="Number of hits.")
@click.option("--recipe", default="", metavar="NAME", help="Recipe for searching (default: the one of the settings).")
@json_option
@common_options
@pass_environment
def search(
    environment: CommandContext,
    query: str,
    memory: Path,
    channel: SearchChannel,
    from_: str | None,
    to: str | None,
    top_k: int,
    recipe: str,
    as_json: bool,
) -> None:
    """Find QUERY in the memory: moments, events and text, best first."""
    from edgemem.serve.rendering import search_json

    hits = environment.memory(memory).search(query, channel=channel, from_=from_, to=to, top_k=top_k, recipe=recipe)
    if as_json:
        print_json(search_json(query, hits))
    elif hits:
        print_evidence(hits, environment.settings.timezone)
    else:
        click.echo("nothing found")
