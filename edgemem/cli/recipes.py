"""`edgemem recipes`: list them, print one, compare several on one stream."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from edgemem.cli.app import (
    CommandContext,
    FilePath,
    NumberRange,
    common_options,
    json_option,
    note,
    pass_environment,
    print_json,
    print_lines,
    table,
)
from edgemem.errors import UsageError

if TYPE_CHECKING:
    from edgemem.serve.compare import Compared


class _Recipes(click.Group):
    """What is no command is the name of a recipe."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            return "show", show, args
        return super().resolve_command(ctx, args)


@click.group(cls=_Recipes, invoke_without_command=True, subcommand_metavar="[NAME | COMMAND]...")
@json_option
@common_options
@pass_environment
@click.pass_context
def recipes(context: click.Context, environment: CommandContext, as_json: bool) -> None:
    """List the recipes, print the one called NAME as a file to copy from, or compare several."""
    if context.invoked_subcommand is not None:
        return
    found = environment.recipes
    read = [(environment.recipe(known), found.files[known]) for known in found.names()]
    if as_json:
        print_json({"recipes": [{"name": r.name, "summary": r.summary, "rate_fps": r.rate_fps, "file": str(path)} for r, path in read]})
    else:
        table([(r.name, f"{r.rate_fps:g}", r.summary) for r, _ in read], ("recipe", "fps", "description"))


@recipes.command()
@click.argument("name")
@json_option
@common_options
@pass_environment
def show(environment: CommandContext, name: str, as_json: bool) -> None:
    """Print the recipe called NAME."""
    recipe = environment.recipe(name)
    if as_json:
        print_json(msgspec.to_builtins(recipe))
    else:
        print_lines(environment.recipes.path(name).read_text(encoding="utf-8").rstrip("\n"))


@recipes.command()
@click.argument("source")
@click.option("--questions", type=FilePath(), required=True, help="JSON list of questions with answers.")
@click.option("--recipe", "names", multiple=True, help="Compare this one. Repeatable (default: all).")
@click.option("--within", type=NumberRange(0, 3600), default=10.0, show_default=True, help="How near evidence must be, in seconds.")
@click.option("--memories", type=FilePath(), help="Keep the memories in this folder (default: they are deleted).")
@click.option("--out", type=FilePath(dir_okay=False), help="Write a chart to this PNG file.")
@json_option
@common_options
@pass_environment
def compare(environment: CommandContext, /, source: str, **options: Any) -> None:
    """Remember SOURCE with several recipes, ask each the same questions, and print the results side by side.

    A question is {"question", "answer": "wording|other wording", "options": [...], "spans": [[from_s, to_s]], "unanswerable": true};
    all keys but the first may be left out.
    """
    from edgemem.serve.compare import compare as compared
    from edgemem.serve.compare import read_questions

    questions, names = read_questions(options["questions"]), options["names"] or environment.recipes.names()
    for name in names:
        environment.recipe(name)
    if options["out"] is not None:
        _chart_library()
    results = list[Any]()
    with ExitStack() as stack:
        folder = options["memories"] or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edgemem-compare-")))
        if any((folder / name).exists() for name in names):
            raise UsageError(f"{folder}: holds memories of these recipes already; give an empty folder")
        for result in compared(source, questions, names, folder, environment.given, within_s=options["within"]):
            results.append(result)
            if not options["as_json"]:
                note(f"{result.recipe}: {100 * result.right:.0f} % right")
    if options["out"] is not None:
        _draw(results, options["out"], options["within"])
    if options["as_json"]:
        print_json({"source": source, "questions": len(questions), "within_s": options["within"], "recipes": results})
    else:
        table([_row(result) for result in results], _header(options["within"]))


def _header(within_s: float) -> tuple[str, ...]:
    return ("recipe", "right", f"recall@{within_s:g}s", "abstained", "wrongly", "p50 ms", "p95 ms", "x real time", "disk MiB", "RAM MiB")


def _row(result: Compared) -> tuple[str, ...]:
    return (
        result.recipe, _percent(result.right), _percent(result.recall), _percent(result.abstained), _percent(result.wrongly_abstained),
        f"{result.p50_ms:.0f}", f"{result.p95_ms:.0f}", f"{result.real_time:.1f}", f"{result.disk_bytes / 2**20:.1f}",
        f"{result.ram_bytes / 2**20:.0f}",
    )  # fmt: skip


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _chart_library() -> Any:
    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError('charts need matplotlib: pip install "edgemem-agent[charts]"') from None
    mpl.use("Agg")
    return mpl


def _draw(results: Sequence[Compared], path: Path, within_s: float) -> None:
    """One bar chart for each figure, one bar for each recipe."""
    _chart_library()
    from matplotlib import pyplot as plt

    figures = {
        "right, %": [100 * r.right for r in results],
        f"recall@{within_s:g}s, %": [100 * (r.recall or 0) for r in results],
        "abstained rightly, %": [100 * (r.abstained or 0) for r in results],
        "answer p95, ms": [r.p95_ms for r in results],
        "disk, MiB": [r.disk_bytes / 2**20 for r in results],
        "RAM, MiB": [r.ram_bytes / 2**20 for r in results],
    }
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), dpi=110)
    for one, (title, values) in zip(axes.flat, figures.items(), strict=True):
        bars = one.bar([r.recipe for r in results], values, color="#4a78b5")
        one.bar_label(bars, fmt="%.0f", padding=2, fontsize=8)
        one.set_title(title, fontsize=10)
        one.tick_params(axis="x", labelrotation=20, labelsize=8)
        one.margins(y=0.15)
    figure.tight_layout()
    try:
        figure.savefig(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a file in a folder that exists") from None
    plt.close(figure)
