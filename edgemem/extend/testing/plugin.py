"""Checks everything that a plugin registers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from edgemem.config import Settings
from edgemem.errors import EngineError
from edgemem.extend.context import PluginContext
from edgemem.extend.plugins import Plugins, import_file
from edgemem.extend.testing import answering, models, remembering, running, runtimes, seeing, selecting, writing
from edgemem.infer.card import cards_dir, load_card
from edgemem.infer.runtime import RuntimeContext

Make = Callable[[], Any]
"""Makes a new object of the component."""

CHECKS: dict[str, Callable[[Make, str], None]] = {
    "sources": seeing.check_source,
    "runtimes": runtimes.check_runtime,
    "converters": models.check_converter,
    "decoders": models.check_decoder,
    "chats": models.check_chat,
    "ears": seeing.check_recogniser,
    "gates": seeing.check_gate,
    "selectors": selecting.check_selector,
    "perceivers": seeing.check_perceiver,
    "segmenters": selecting.check_segmenter,
    "writers": writing.check_writer,
    "retainers": remembering.check_retainer,
    "retrievers": answering.check_retriever,
    "tools": answering.check_tool,
    "planners": answering.check_planner,
    "checks": answering.check_check,
    "services": running.check_service,
    "transports": running.check_transport,
}
"""By place: (maker of the component, its name in messages) -> raises AssertionError if it violates its protocol."""

_NEED_CONTEXT = frozenset({"sources", "decoders"})
"""Places whose factories need an address or the engines of a card."""


def load_file(path: str | Path) -> ModuleType:
    """Load a plugin of one file, as `--plugins-dir` does."""
    return import_file(Path(path).stem, Path(path))


def check_plugin(
    module: ModuleType,
    parameters: Mapping[tuple[str, str], Mapping[str, Any]] | None = None,
    contexts: Mapping[tuple[str, str], object] | None = None,
) -> list[str]:
    """Make everything that `module` registers and check its protocol; returns the checked components, such as "gates/night".

    `parameters`: settings by (place, name) for components whose defaults are not enough. `contexts`: contexts of factories by (place,
    name); sources are checked only with a `SourceContext`, decoders only with `DecoderParts`. Components that need a missing model are left
    out. Raises AssertionError, which names the component and the violated rule, or PluginError if the plugin would be refused at the start.
    """
    plugins = Plugins.of(module)
    with tempfile.TemporaryDirectory() as home:
        return [
            f"{place}/{name}"
            for place in CHECKS
            for name in plugins.own(place)
            if _checked(plugins, place, name, (parameters or {}).get((place, name), {}), _context(place, name, contexts or {}, Path(home)))
        ]


def _checked(plugins: Plugins, place: str, name: str, parameters: Mapping[str, Any], context: object) -> bool:
    if context is None:
        return False
    make = partial(plugins.make, place, name, parameters, context, "check_plugin")
    try:
        made = make()
    except EngineError:
        return False
    if made is None:  # for example a language model that is not configured
        return False
    CHECKS[place](make, f"{place[:-1]} {name}")
    return True


def _context(place: str, name: str, contexts: Mapping[tuple[str, str], object], home: Path) -> object:
    given = contexts.get((place, name))
    if given is not None or place in _NEED_CONTEXT:
        return given
    if place == "runtimes":
        return RuntimeContext(home, threads=1)
    if place == "converters":
        return load_card(next(iter(sorted(cards_dir().glob("*.toml")))))
    return PluginContext(Settings(), home)
