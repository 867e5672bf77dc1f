"""`edgemem engines`: the models that edgemem uses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from edgemem.cli.app import (
    CommandContext,
    FilePath,
    common_options,
    json_option,
    note,
    pass_environment,
    print_json,
    print_line,
    progress,
    table,
)
from edgemem.errors import EdgememError, FetchError, UsageError, nearest

if TYPE_CHECKING:
    from edgemem.infer.card import EngineCard

_names = click.argument("names", nargs=-1, metavar="[NAME]...")


@click.group()
def engines() -> None:
    """Models: list, fetch, build, check, selftest."""


@engines.command("list")
@_names
@json_option
@common_options
@pass_environment
def list_(environment: CommandContext, names: tuple[str, ...], as_json: bool) -> None:
    """List the engine cards: their roles, their licences, and whether they are fetched."""
    from edgemem.infer.fetch import engine_dir, installed

    cards = _cards(environment, names) if names else list(environment.cards.values())
    there = {card.name for card in cards if installed(card, environment.home) is not None}
    if not as_json:
        rows = [(c.name, c.role, "yes" if c.name in there else "no", _megabytes(_download_bytes(c)), c.licence) for c in cards]
        table(rows, ("engine", "role", "fetched", "download", "licence"))
        return
    facts = [
        {
            "name": card.name,
            "role": card.role,
            "fetched": card.name in there,
            "licence": card.licence,
            "download_bytes": _download_bytes(card),
            "uses": sorted(filter(None, (*card.uses.values(), *card.may_use.values()))),
            "folder": str(engine_dir(card, environment.home)) if card.name in there and card.files else None,
            "about": card.about,
        }
        for card in cards
    ]
    print_json({"engines": facts})


@engines.command()
@_names
@json_option
@common_options
@pass_environment
def fetch(environment: CommandContext, names: tuple[str, ...], as_json: bool) -> None:
    """Fetch and convert models: the named ones with all their parts; without names all but optional ones and those of a hub."""
    wanted = _cards(environment, names) if names else _usual_cards(environment)
    problems = _fetch(environment, wanted)
    if as_json:
        print_json({"fetched": [card.name for card in wanted if card.name not in problems], "problems": problems})
    for problem in problems.values() if not as_json else ():
        note(f"edgemem: {problem}")
    if problems:
        sys.exit(1)


@engines.command()
@_names
@click.option("--runtime", metavar="NAME", help="Compare the outputs of this runtime with those of --against, on real inputs.")
@click.option("--against", default="onnx", show_default=True, metavar="NAME", help="The runtime that is trusted.")
@click.option("--variant", metavar="NAME", help="Another engine with the same tensors: its files are compared, such as those in float16.")
@click.option(
    "--sample", "samples", multiple=True, metavar="SOURCE", help="Pictures, a film or speech as inputs (default: the demo's film)."
)
@json_option
@common_options
@pass_environment
def check(
    environment: CommandContext,
    names: tuple[str, ...],
    runtime: str | None,
    against: str,
    variant: str | None,
    samples: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare the SHA-256 of fetched models with the stored ones; with --runtime or --variant, compare what they compute.

    Exit code 1: something is damaged, or the outputs are further apart than the engine's card allows.
    """
    if runtime or variant:
        from edgemem.cli.parity import check_parity

        cards = [card.name for card in _chosen(environment, names) if card.models]
        check_parity(environment, cards, samples, runtime=runtime or against, against=against, variant=variant or "", as_json=as_json)
    else:
        _check_files(environment, names, as_json=as_json)


def _check_files(environment: CommandContext, names: tuple[str, ...], *, as_json: bool) -> None:
    from edgemem.infer.fetch import check as check_card
    from edgemem.infer.fetch import engine_dir

    # A file that is missing or cut short makes its engine one that is not fetched: whatever has a folder is checked.
    there = [card for card in environment.cards.values() if not card.files or engine_dir(card, environment.home).exists()]
    cards = _cards(environment, names) if names else there
    problems = [problem for card in cards for problem in check_card(card, environment.home)]
    checked = [card.name for card in cards if card.files]
    if as_json:
        print_json({"checked": checked, "problems": problems})
    else:
        print_line(f"{len(checked)} engines checked, {len(problems)} problems")
        for problem in problems:
            note(f"edgemem: {problem}")
    if problems:
        sys.exit(1)


@engines.command()
@_names
@click.option("--runtime", metavar="NAME", help="The runtime to test (default: the first of engines.runtime).")
@click.option("--against", default="onnx", show_default=True, metavar="NAME", help="The runtime that is trusted.")
@click.option(
    "--sample", "samples", multiple=True, metavar="SOURCE", help="Pictures, a film or speech as inputs (default: the demo's film)."
)
@click.option("--out", type=FilePath(dir_okay=False), help="File of the report (default: in the data directory).")
@json_option
@common_options
@pass_environment
def selftest(
    environment: CommandContext,
    names: tuple[str, ...],
    runtime: str | None,
    against: str,
    samples: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Test a runtime on this device: its contract, its builds, its outputs beside those of --against, its times. Writes a report.

    Exit code 1: something does not hold.
    """
    from edgemem.cli.parity import run_and_report

    cards = [card.name for card in _chosen(environment, names) if card.models]
    runtime = runtime or environment.settings.engines.runtime[0]
    out = out or environment.home / f"selftest-{runtime}.json"
    run_and_report(environment, cards, samples, runtime=runtime, against=against, out=out, as_json=as_json)


@engines.command()
@_names
@json_option
@common_options
@pass_environment
def build(environment: CommandContext, names: tuple[str, ...], as_json: bool) -> None:
    """Let the runtimes of `engines.runtime` build what they need on this device, for the named engines or for all fetched ones."""
    cards = _cards(environment, names) if names else _chosen(environment, names)
    with progress() as advance:
        results = [result for card in cards for result in environment.engines.build(card, advance)]
    if as_json:
        print_json({"built": [msgspec.to_builtins(result) for result in results]})
    else:
        rows = [(r.card, r.model, r.runtime, f"{r.seconds:.1f} s", r.problem or "ready") for r in results]
        table(rows, ("engine", "model", "runtime", "took", "result"))
    if unserved := {result.card for result in results} - {result.card for result in results if not result.problem}:
        note(f"edgemem: no runtime can load {', '.join(sorted(unserved))}")
        sys.exit(1)


def fetch_all(environment: CommandContext) -> list[str]:
    """Fetch every card that needs no hub, and those that the settings name; print a line on stderr for each failure.

    Returns those lines. Raises FetchError if nothing could be fetched.
    """
    cards = _usual_cards(environment)
    problems = _fetch(environment, cards)
    for problem in problems.values():
        note(f"edgemem: {problem}")
    if cards and all(card.name in problems for card in cards if card.source):
        raise FetchError(f"no model could be fetched: {next(iter(problems.values()))}")
    return list(problems.values())


def _usual_cards(environment: CommandContext) -> list[EngineCard]:
    """The cards without a hub and without optional ones: not every board can reach a hub, and the default engines do not need it."""
    named = set(environment.settings.engines.roles.values())
    cards = environment.cards.values()
    return [c for c in cards if c.name in named or not (c.optional or any(source.kind == "hub" for source in c.source))]


def _chosen(environment: CommandContext, names: Sequence[str]) -> list[EngineCard]:
    """The named cards without their parts; without names, all that are fetched."""
    from edgemem.infer.fetch import installed

    if names:
        return [card for card in _cards(environment, names) if card.name in names]
    return [card for card in environment.cards.values() if installed(card, environment.home) is not None]


def _cards(environment: CommandContext, names: Sequence[str]) -> list[EngineCard]:
    from edgemem.infer.card import with_parts

    for name in names:
        if name not in environment.cards:
            raise UsageError(f'no engine is called "{name}"{nearest(name, environment.cards)}')
    found: dict[str, EngineCard] = {}
    for name in names:
        found.update({card.name: card for card in with_parts(environment.cards[name], environment.cards)})
    return list(found.values())


def _fetch(environment: CommandContext, cards: Sequence[EngineCard]) -> dict[str, str]:
    """Fetch cards one after the other; returns problems by card. If one fails, the others continue."""
    from edgemem.infer.fetch import ensure

    problems: dict[str, str] = {}
    with progress() as advance:
        for card in cards:
            try:
                ensure(card, environment.home, environment.converters, advance)
            except EdgememError as error:
                problems[card.name] = f"{card.name}: {str(error).removeprefix(f'{card.name}: ')}"
    return problems


def _download_bytes(card: EngineCard) -> int:
    return sum(source.size_bytes for source in card.source)


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.0f} MB" if size_bytes else "-"
