"""`edgemem memory keygen | encrypt | decrypt | rekey`: the key of a memory."""

from __future__ import annotations

from pathlib import Path

import click

from edgemem.cli.app import (
    CommandContext,
    FilePath,
    common_options,
    json_option,
    memory_option,
    note,
    pass_environment,
    print_json,
    print_line,
)
from edgemem.errors import MemoryKeyError

_CONFIGURE = "configure one with --set store.key_file=FILE, EDGEMEM_KEY_FILE or EDGEMEM_KEY (`edgemem memory keygen FILE` creates one)"
_BLOCKS = "note: blocks of the plain files may remain on the storage medium until they are overwritten"


@click.command()
@click.argument("file", type=FilePath())
@json_option
@common_options
@pass_environment
def keygen(_environment: CommandContext, file: Path, as_json: bool) -> None:
    """Create a new random key in a new FILE that only you can read. Keep a copy of it elsewhere: without it a memory is lost."""
    from edgemem.remember.disk.keys import generate

    generate(file)
    _print_result(as_json, {"key_file": str(file)}, f"{file}: a new key; keep a copy of it elsewhere, without it the memory is lost")


@click.command()
@memory_option
@json_option
@common_options
@pass_environment
def encrypt(_environment: CommandContext, memory: Path, as_json: bool) -> None:
    """Encrypt a plain memory with the configured key. For a while it needs as much free disk space as the memory; a crash loses nothing."""
    from edgemem.remember.disk import keys, rewrite

    key = keys.configured()
    if key is None:
        raise MemoryKeyError(f"there is no key to encrypt with: {_CONFIGURE}")
    with keys.using(None):
        rewrite.change_key(memory, None, key)
    note(_BLOCKS)
    _print_result(as_json, {"memory": str(memory), "encrypted": True}, f"{memory}: encrypted; from now on only {key.source} opens it")


@click.command()
@memory_option
@json_option
@common_options
@pass_environment
def decrypt(_environment: CommandContext, memory: Path, as_json: bool) -> None:
    """Make an encrypted memory plain again. For a while it needs as much free disk space as the memory; a crash loses nothing."""
    from edgemem.remember.disk import keys, rewrite
    from edgemem.remember.store import Store

    key = keys.configured()
    if key is None:
        raise MemoryKeyError("there is no key to decrypt with: configure the memory's with --set store.key_file=FILE or EDGEMEM_KEY_FILE")
    rewrite.change_key(memory, key, None)
    with keys.using(None):
        Store.open(memory, create=False).close()  # creates the vector files
    _print_result(as_json, {"memory": str(memory), "encrypted": False}, f"{memory}: not encrypted any more; configure no key for it")


@click.command()
@memory_option
@click.option("--new-key-file", type=FilePath(), required=True, metavar="FILE", help="The new key.")
@json_option
@common_options
@pass_environment
def rekey(_environment: CommandContext, memory: Path, new_key_file: Path, as_json: bool) -> None:
    """Give an encrypted memory another key. For a while it needs as much free disk space as the memory; a crash loses nothing."""
    from edgemem.remember.disk import keys, rewrite

    old, new = keys.configured(), keys.read(new_key_file)
    if old is None:
        raise MemoryKeyError("the present key of the memory is needed too: configure it with --set store.key_file=FILE or EDGEMEM_KEY_FILE")
    rewrite.require_new_key(old, new)
    rewrite.change_key(memory, old, new)
    _print_result(
        as_json, {"memory": str(memory), "encrypted": True}, f"{memory}: from now on only {new.source} opens it; configure that key"
    )


def _print_result(as_json: bool, facts: dict[str, object], text: str) -> None:
    if as_json:
        print_json(facts)
    else:
        print_line(text)
