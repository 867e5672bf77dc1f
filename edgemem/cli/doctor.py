"""`edgemem doctor`: shows what this machine can do, and what is missing."""

from __future__ import annotations

import os
import platform
from typing import Literal

import click

from edgemem import __version__, clock, files
from edgemem.cli.app import CommandContext, common_options, json_option, pass_environment, print_json, print_line
from edgemem.device.findings import Finding, agent, clock_state, disk, permissions, sqlite_version
from edgemem.errors import EdgememError

_NEEDED = frozenset({"sqlite", "disk", "runtime", "data directory"})
"""Without these nothing can be remembered."""


@click.command()
@json_option
@common_options
@pass_environment
def doctor(environment: CommandContext, as_json: bool) -> None:
    """Show what this machine can do, what is missing, and how to get it. Exit code 1: edgemem cannot work here."""
    findings = [
        *_machine(),
        *_board(environment),
        *_device(environment),
        *_vectors(),
        *_abilities(environment),
        _home(environment),
    ]
    if as_json:
        print_json({"version": __version__, "findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            print_line(f"{finding.level:8}{finding.what:16}{finding.detail}")
            if finding.todo:
                print_line(f"{'':24}to do: {finding.todo}")
    if any(finding.level == "missing" and finding.what in _NEEDED for finding in findings):
        raise click.exceptions.Exit(1)


def _machine() -> list[Finding]:
    python = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"
    return [Finding("ok", "edgemem", __version__), Finding("ok", "python", python), sqlite_version()]


def _device(environment: CommandContext) -> list[Finding]:
    """What the daemon needs of this machine."""
    from edgemem.device.cameras import check_cameras

    settings = environment.settings
    return [
        clock_state(clock.kernel_error_us(), clock.now_us()),
        disk(settings, environment.home),
        *permissions(settings, environment.given[0]),
        *check_cameras(settings, environment.plugins),
        *agent(settings),
    ]


def _board(environment: CommandContext) -> list[Finding]:
    """The board whose file is used, how it was found, its power mode, and plugins for it that are missing."""
    from importlib.metadata import distributions

    from edgemem.device.sysfs import SysfsBoard
    from edgemem.layers import read_layers

    hardware = environment.settings.hardware
    found = read_layers(*environment.given).board
    todo = "write a file for it, see docs/boards.md" if found.unknown else ""
    lines = [Finding("note" if found.unknown else "ok", "board", found.described(hardware.name), todo)]
    mode = SysfsBoard(found.name, hardware).power_mode()
    if mode:
        fits = not hardware.power_modes or mode in hardware.power_modes
        todo = "" if fits else f"the settings are made for {', '.join(hardware.power_modes)}: sudo nvpmodel -m NUMBER"
        lines.append(Finding("ok" if fits else "note", "power mode", mode, todo))
    installed = {str(part.metadata["Name"]).lower() for part in distributions()} if hardware.plugins else set()
    missing = [name for name in hardware.plugins if f"edgemem-{name}" not in installed]
    if missing:
        todo = f"pip install {' '.join(f'edgemem-{name}' for name in missing)}"
        lines.append(Finding("note", "board plugins", f"not installed: {', '.join(missing)}", todo))
    return lines


def _abilities(environment: CommandContext) -> list[Finding]:
    """What the installed plugins and models can do here."""
    return [*_runtimes(environment), *_roles(environment), _chat(environment), *_transports(environment), _encryption()]


def _transports(environment: CommandContext) -> list[Finding]:
    """The transports for an outbox."""
    return [Finding("ok", "transport", f"{name}: {part.summary}") for name, part in environment.plugins.components("transports").items()]


def _vectors() -> list[Finding]:
    from edgemem.remember.vectors.kernels import scan, scan_numpy

    if scan is scan_numpy:
        return [
            Finding(
                "note", "vector kernel", "numpy: numkong cannot be imported, so scans are about five times slower", "pip install numkong"
            )
        ]
    return [Finding("ok", "vector kernel", "numkong")]


def _runtimes(environment: CommandContext) -> list[Finding]:
    """Runtimes in the order in which they are tried. One that cannot be used counts as missing only if no other can be used."""
    runtimes = environment.engines.runtimes.describe()
    failing: Literal["note", "missing"] = "note" if any(not problem for _, _, problem in runtimes) else "missing"
    return [Finding(failing if problem else "ok", "runtime", f"{name}: {about or problem}") for name, about, problem in runtimes]


def _roles(environment: CommandContext) -> list[Finding]:
    roles = sorted({card.role for card in environment.cards.values()})
    return [finding for role in roles for finding in _role(environment, role)]


def _role(environment: CommandContext, role: str) -> list[Finding]:
    """The card of a role, and its optional parts that are missing."""
    problem = environment.engines.missing(role)
    if problem:
        return [Finding("missing", role, problem)]
    notes = [Finding("note", role, note) for note in environment.engines.notes(role)]
    return [Finding("ok", role, _card_and_runtime(environment, role)), *notes]


def _card_and_runtime(environment: CommandContext, role: str) -> str:
    """The card, and the runtime of its models."""
    card = environment.engines.card(role)
    return f"{card.name} on {environment.engines.runtimes.first(card)}" if card.models else card.name


def _chat(environment: CommandContext) -> Finding:
    """The language model in use; without one the local planner answers."""
    known = sorted(environment.plugins.components("chats"))
    try:
        models = environment.context.models
    except EdgememError as error:
        return Finding("missing", "language model", str(error))
    if models.there:
        return Finding("ok", "language model", f"{models.name}; not checked yet whether it answers and accepts pictures")
    how = f"configure one of: {', '.join(known)}, such as --set openai.base_url=..." if known else "install a plugin that has one"
    return Finding("note", "language model", "none: the local planner answers", how)


def _encryption() -> Finding:
    """Whether memories can be encrypted here, and whether a configured key can be read."""
    from edgemem.remember.disk import keys

    try:
        key = keys.configured()
    except EdgememError as error:
        return Finding("missing", "encryption", str(error))
    try:
        from sqlcipher3 import dbapi2
    except ImportError:
        level: Literal["note", "missing"] = "note" if key is None else "missing"
        return Finding(level, "encryption", "off: sqlcipher3 is not installed", "pip install 'edgemem-agent[encrypted]'")
    state = "off: no key is configured" if key is None else f"on, with {key.source}"
    return Finding("ok", "encryption", f"{state}; SQLCipher on SQLite {dbapi2.sqlite_version}")


def _home(environment: CommandContext) -> Finding:
    """The directory of engines: whether it can be written."""
    todo = "set EDGEMEM_HOME to a directory that this user may write"
    try:
        files.make_directory(environment.home)
    except OSError as error:
        return Finding("missing", "data directory", f"{environment.home}: {error.strerror}", todo)
    if not os.access(environment.home, os.W_OK):
        return Finding("missing", "data directory", f"{environment.home}: not writable for this user", todo)
    free = os.statvfs(environment.home)
    return Finding("ok", "data directory", f"{environment.home}, {free.f_bavail * free.f_frsize / 2**30:.1f} GiB free")
