"""The clips for benchmarks: the given ones, else those of the demo, fetched once into the data directory."""

from __future__ import annotations

from collections.abc import Sequence

from edgemem.cli.app import CommandContext
from edgemem.cli.film import fetch_media

NAMES = ("vtest", "cup", "bigbuckbunny", "bikes")


def clips(given: Sequence[str]) -> list[str]:
    """Paths of clips; without those of a Debian package if it cannot be fetched."""
    if given:
        return list(given)
    media, _ = fetch_media(CommandContext(None, ()).home)
    return [str(media[name]) for name in NAMES if name in media]


if __name__ == "__main__":
    print("\n".join(clips(())))
