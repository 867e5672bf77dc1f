"""The self-test of a runtime on a device: the contract of runtimes, what it builds, how close it is to the reference, and how fast.

Its report is the proof that a runtime works on a board; without one, nothing is claimed.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from edgemem import __version__
from edgemem.boards import device_tree
from edgemem.clock import now_us, to_iso
from edgemem.errors import EngineError
from edgemem.extend.environment import Environment
from edgemem.extend.testing.runtimes import RUNTIME_CHECKS
from edgemem.infer.fetch import Progress
from edgemem.infer.runtime import Runtime
from edgemem.infer.runtime_order import BuildResult
from edgemem.records import Record
from edgemem.serve.parity import CardParity, Samples, compare

TIMED_RUNS = 50


class Machine(Record, frozen=True):
    """What the test ran on."""

    board: str
    """From the device tree; empty on a PC."""
    system: str
    processor_count: int
    python: str
    numpy: str
    l4t: str
    """First line of /etc/nv_tegra_release; empty on other machines."""
    power_mode: str
    """Name of nvpmodel's mode; empty where there is none."""


class CheckResult(Record, frozen=True):
    """One check of the contract."""

    check: str
    seconds: float
    problem: str
    """Empty if it holds."""


class SelfTest(Record, frozen=True):
    """The report."""

    edgemem: str
    when: str
    machine: Machine
    runtime: str
    about: str
    """Library, versions and hardware, as the runtime describes itself."""
    against: str
    against_about: str
    contract: tuple[CheckResult, ...]
    builds: tuple[BuildResult, ...]
    engines: tuple[CardParity, ...]
    passed: bool
    """Nothing failed, and at least one engine was compared."""


def run_selftest(
    environment: Environment,
    cards: Sequence[str],
    samples: Samples,
    *,
    runtime: str,
    against: str,
    machine: Machine,
    progress: Progress,
) -> SelfTest:
    """Test `runtime` with the models of the cards against `against`. Raises EngineError if one of the two cannot be used here at all."""
    runtimes = environment.engines.runtimes
    tested, reference = runtimes.runtime(runtime), runtimes.runtime(against)
    contract = tuple(_checked(name, check, tested, progress, number) for number, (name, check) in enumerate(RUNTIME_CHECKS.items()))
    builds = tuple(result for card in cards for result in _built(environment, card, runtime, progress))
    engines = []
    for number, card in enumerate(cards):
        progress(f"{card} on {runtime}", number, len(cards))
        engines.append(compare(environment, card, samples, runtime=runtime, against=against, repeat=TIMED_RUNS))
    problems = [*(one.problem for one in contract), *(one.problem for one in builds), *(one.problem for one in engines)]
    passed = not any(problems) and any(one.models for one in engines)
    return SelfTest(
        edgemem=__version__, when=to_iso(now_us()), machine=machine, runtime=runtime, about=tested.describe(), against=against,
        against_about=reference.describe(), contract=contract, builds=builds, engines=tuple(engines), passed=passed,
    )  # fmt: skip


def _checked(name: str, check: Callable[[Runtime], None], runtime: Runtime, progress: Progress, number: int) -> CheckResult:
    progress(name.replace("_", " "), number, len(RUNTIME_CHECKS))
    began = time.monotonic()
    try:
        check(runtime)
        problem = ""
    except (AssertionError, EngineError) as error:
        problem = str(error) or "it does not hold"
    return CheckResult(check=name, seconds=round(time.monotonic() - began, 3), problem=problem)


def _built(environment: Environment, card: str, runtime: str, progress: Progress) -> list[BuildResult]:
    """What one runtime builds for a card; a failure is in the result."""
    try:
        return environment.engines.build(environment.cards[card], progress, (runtime,))
    except EngineError as error:
        return [BuildResult(card=card, model="", runtime=runtime, seconds=0.0, problem=str(error))]


def describe_machine(root: Path, power_mode: str) -> Machine:
    """The board whose files are below `root`, its software and its power mode."""
    return Machine(
        board=" ".join(device_tree(root)[-1:]),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor_count=os.cpu_count() or 1,
        python=platform.python_version(),
        numpy=np.__version__,
        l4t=_first_line(root / "etc/nv_tegra_release"),
        power_mode=power_mode,
    )


def _first_line(path: Path) -> str:
    with suppress(OSError, ValueError):
        return path.read_text(encoding="utf-8", errors="replace").strip().partition("\n")[0]
    return ""
