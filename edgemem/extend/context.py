"""The context in which a plugin's component is made, in addition to its own settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from edgemem.config import Settings

if TYPE_CHECKING:
    from edgemem.infer.engines import Engines
    from edgemem.llm.models import Models

S = TypeVar("S", bound=msgspec.Struct)


def _no_models() -> Models:
    from edgemem.llm.models import Models  # `edgemem --help` loads plugins, but no module that answers questions

    return Models()


@dataclass
class PluginContext:
    """Input of a factory, in addition to its settings."""

    settings: Settings
    home: Path
    engines: Engines | None = None
    """Models by role; None if none are needed."""
    models: Models = field(default_factory=_no_models)
    """Language models, if any is configured."""
    tables: tuple[msgspec.Struct, ...] = ()
    """Settings that plugins declared."""
    tasks: tuple[str, ...] = ()
    """Tasks of plugins for language models."""

    def table(self, kind: type[S]) -> S:
        """A plugin's own settings, as `register_settings` declared them."""
        return next((table for table in self.tables if isinstance(table, kind)), None) or kind()
