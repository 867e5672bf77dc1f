"""`edgemem doctor`: what this machine can do, and what is missing."""

from __future__ import annotations

import os
import platform
import sqlite3
from typing import NamedTuple

import click

from edgemem import __version__, files
from edgemem.cli.app import CommandContext, common_options, json_option, pass_environment, print_json
from edgemem.errors import EdgememError


class Finding(NamedTuple):
    """One line of the report. `level` is "ok", "note" (works, with a limit) or "missing"."""

    level: str
    what: str
    detail: str


@click.command()
@json_option
@common_options
@pass_environment
def doctor(environment: CommandContext, as_json: bool) -> None:
    """Say what this machine can do, what is missing, and how to get it. Exit code 1: edgemem cannot work here."""
    findings = [
        *_machine(),
        *_vectors(),
        *_runtimes(environment),
        *_roles(environment),
        _chat(environment),
        *_transports(environment),
        _encryption(),
        _home(environment),
    ]
    if as_json:
        print_json({"version": __version__, "findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            click.echo(f"{finding.level:8}{finding.what:16}{finding.detail}")
    if any(finding.level == "missing" and finding.what in {"runtime", "data directory"} for finding in findings):
        raise click.exceptions.Exit(1)


def _machine() -> list[Finding]:
    python = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"
    fixed = sqlite3.sqlite_version_info >= (3, 51, 3)
    sqlite = f"{sqlite3.sqlite_version}" + (
        "" if fixed else "; older than 3.51.3, safe here because one connection does all writing and checkpoints"
    )
    return [Finding("ok", "edgemem", __version__), Finding("ok", "python", python), Finding("ok" if fixed else "note", "sqlite", sqlite)]


def _transports(environment: CommandContext) -> list[Finding]:
    """What an outbox could leave this device by."""
    return [Finding("ok", "transport", f"{name}: {part.summary}") for name, part in environment.plugins.components("transports").items()]


def _vectors() -> list[Finding]:
    from edgemem.remember.vectors.kernels import scan, scan_numpy

    if scan is scan_numpy:
        return [Finding("note", "vector kernel", "numpy: numkong cannot be imported, so scans are about five times slower")]
    return [Finding("ok", "vector kernel", "numkong")]


def _runtimes(environment: CommandContext) -> list[Finding]:
    """In the order in which they are tried. One that cannot be used is missing only when no other can."""
    runtimes = environment.engines.runtimes.describe()
    failing = "note" if any(not problem for _, _, problem in runtimes) else "missing"
    return [Finding(failing if problem else "ok", "runtime", f"{name}: {about or problem}") for name, about, problem in runtimes]


def _roles(environment: CommandContext) -> list[Finding]:
    roles = sorted({card.role for card in environment.cards.values()})
    return [finding for role in roles for finding in _role(environment, role)]


def _role(environment: CommandContext, role: str) -> list[Finding]:
    """Who plays a role, and what it is without."""
    problem = environment.engines.missing(role)
    if problem:
        return [Finding("missing", role, problem)]
    notes = [Finding("note", role, note) for note in environment.engines.notes(role)]
    return [Finding("ok", role, _played_by(environment, role)), *notes]


def _played_by(environment: CommandContext, role: str) -> str:
    """The card, and the runtime that its models are loaded with."""
    card = environment.engines.card(role)
    return f"{card.name} on {environment.engines.runtimes.first(card)}" if card.models else card.name


def _chat(environment: CommandContext) -> Finding:
    """Which language model would reason; without one the local planner answers."""
    known = sorted(environment.plugins.components("chats"))
    try:
        models = environment.context.models
    except EdgememError as error:
        return Finding("missing", "language model", str(error))
    if models.there:
        return Finding("ok", "language model", f"{models.name}; not asked yet whether it answers, and whether it sees")
    how = f"configure one of: {', '.join(known)}, such as --set openai.base_url=..." if known else "no plugin brings one"
    return Finding("note", "language model", f"none: the local planner answers; {how}")


def _encryption() -> Finding:
    """Whether memories can be encrypted here, and whether a configured key can be had."""
    from edgemem.remember.disk import keys

    try:
        key = keys.configured()
    except EdgememError as error:
        return Finding("missing", "encryption", str(error))
    try:
        from sqlcipher3 import dbapi2
    except ImportError:
        level = "note" if key is None else "missing"
        return Finding(level, "encryption", "sqlcipher3 is not installed; for encrypted memories: pip install 'edgemem-agent[encrypted]'")
    state = "off: no key is configured" if key is None else f"on, with {key.source}"
    return Finding("ok", "encryption", f"{state}; SQLCipher on SQLite {dbapi2.sqlite_version}")


def _home(environment: CommandContext) -> Finding:
    try:
        files.make_directory(environment.home)
    except OSError as error:
        return Finding("missing", "data directory", f"{environment.home}: {error.strerror}; set EDGEMEM_HOME to a directory you may write")
    if not os.access(environment.home, os.W_OK):
        return Finding("missing", "data directory", f"{environment.home}: not writable for this user; set EDGEMEM_HOME")
    free = os.statvfs(environment.home)
    return Finding("ok", "data directory", f"{environment.home}, {free.f_bavail * free.f_frsize / 2**30:.1f} GiB free")
