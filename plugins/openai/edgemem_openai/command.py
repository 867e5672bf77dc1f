"""`edgemem spent`: the cost of language models."""

from __future__ import annotations

import click
import msgspec

from edgemem.cli.app import CommandContext, common_options, json_option, pass_environment, print_json, table


@click.command()
@click.option("--days", default=7, show_default=True, type=click.IntRange(1, 400), help="Number of past UTC days.")
@json_option
@common_options
@pass_environment
def spent(environment: CommandContext, days: int, as_json: bool) -> None:
    """Show the tokens and the cost of language models, by day, task and model."""
    from edgemem_openai.ledger import UsageLedger

    lines = UsageLedger(environment.home / "openai.db").lines(days)
    if as_json:
        print_json({"spent": [msgspec.to_builtins(line) for line in lines]})
        return
    header = ("day", "task", "model", "server", "calls", "tokens in", "tokens out", "USD")
    rows = [(x.day, x.task, x.model, x.place, str(x.calls), str(x.tokens_in), str(x.tokens_out), f"{x.usd:.4f}") for x in lines]
    table(rows, header)
