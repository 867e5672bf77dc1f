"""What a plugin's component is made with beside its own settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from edgemem.config import Settings

if TYPE_CHECKING:
    from edgemem.answer.models import Models
    from edgemem.infer.engines import Engines

S = TypeVar("S", bound=msgspec.Struct)


def _no_models() -> Models:
    from edgemem.answer.models import Models  # `edgemem --help` loads plugins, but nothing that answers

    return Models()


@dataclass
class PluginContext:
    """What a factory gets beside its settings."""

    settings: Settings
    home: Path
    engines: Engines | None = None
    """Models by role; None where none are needed."""
    models: Models = field(default_factory=_no_models)
    """Language models, if any is configured."""
    tables: tuple[msgspec.Struct, ...] = ()
    """Settings that plugins declared."""
    tasks: tuple[str, ...] = ()
    """What plugins ask language models for."""

    def table(self, kind: type[S]) -> S:
        """A plugin's own settings, as `register_settings` declared them."""
        return next((table for table in self.tables if isinstance(table, kind)), None) or kind()
