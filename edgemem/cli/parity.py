"""What `edgemem engines check --runtime` and `edgemem engines selftest` print."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from edgemem import files
from edgemem.cli.app import CommandContext, note, print_json, print_line, progress, table
from edgemem.device.sysfs import SysfsBoard
from edgemem.errors import UsageError
from edgemem.serve.parity import CardParity, Samples, compare, read_samples
from edgemem.serve.selftest import describe_machine, run_selftest

_HEADER = ("engine", "model", "inputs", "output", "cosine", "largest difference", "agreement", "ms", "ms against")


def check_parity(
    environment: CommandContext, cards: Sequence[str], specs: Sequence[str], *, runtime: str, against: str, variant: str, as_json: bool
) -> None:
    """Compare each card and print the result. Exits with 1 if something is too far apart."""
    if variant and len(cards) != 1:
        raise UsageError(
            "--variant needs the name of one engine to compare with, such as: edgemem engines check nanodet --variant nanodet-fp16"
        )
    samples = _samples(environment, specs)
    with progress() as advance:
        found = []
        for number, card in enumerate(cards):
            advance(f"{card} on {runtime}", number, len(cards))
            found.append(compare(environment, card, samples, runtime=runtime, against=against, variant=variant))
    if as_json:
        print_json({"compared": msgspec.to_builtins(found)})
    else:
        _print(found)
    if any(one.problem for one in found) or all(one.untested for one in found):
        sys.exit(1)


def run_and_report(
    environment: CommandContext, cards: Sequence[str], specs: Sequence[str], *, runtime: str, against: str, out: Path, as_json: bool
) -> None:
    """Run the self-test, write its report to `out` and print it. Exits with 1 if something does not hold."""
    samples = _samples(environment, specs)
    hardware = environment.settings.hardware
    machine = describe_machine(Path(hardware.root), SysfsBoard(hardware.name, hardware).power_mode())
    with progress() as advance:
        report = run_selftest(environment, cards, samples, runtime=runtime, against=against, machine=machine, progress=advance)
    files.write_file(out, msgspec.json.format(msgspec.json.encode(report), indent=2))
    if as_json:
        print_json(msgspec.to_builtins(report))
    else:
        print_line(f"{runtime}: {report.about}")
        print_line(f"against {against}: {report.against_about}")
        holding = sum(not one.problem for one in report.contract)
        print_line(f"contract: {holding} of {len(report.contract)} checks hold")
        _print(report.engines)
        print_line(f"report: {out}")
    for name, problem in (*((one.check, one.problem) for one in report.contract), *((one.card, one.problem) for one in report.builds)):
        if problem:
            note(f"edgemem: {name}: {problem}")
    if not report.passed:
        sys.exit(1)


def _samples(environment: CommandContext, specs: Sequence[str]) -> Samples:
    """The given sources; without any the demo's film, which must have been made."""
    film = environment.home / "demo" / "film.mp4"
    if not specs and not film.is_file():
        raise UsageError("give real inputs with --sample (pictures, a film, a recording of speech), or make the demo's film: edgemem demo")
    return read_samples(list(specs) or [str(film)], environment)


def _print(found: Sequence[CardParity]) -> None:
    table([row for card in found for row in _rows(card)], _HEADER)
    for card in found:
        if card.problem or card.untested:
            note(f"edgemem: {card.card}: {card.problem or f'not compared: {card.untested}'}")


def _rows(card: CardParity) -> Iterator[tuple[str, ...]]:
    if not card.models:
        yield (card.variant, "-", "0", "-", "-", "-", "-", "-", "-")
    for model in card.models:
        times = tuple(f"{one.p50_ms:.1f}" if one else "-" for one in (model.tested, model.reference))
        for output in model.outputs:
            agreement = "-" if output.agreement is None else f"{output.agreement:.3f}"
            difference = f"{output.largest_difference:.2g} of {output.largest_value:.2g}"
            yield (card.variant, model.model, str(model.inputs), output.output, f"{output.cosine:.5f}", difference, agreement, *times)
