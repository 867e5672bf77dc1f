"""Finds the registered source for an address or a file: by the scheme of the address or the suffix of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgemem.errors import PluginError, SourceError, UsageError, nearest
from edgemem.extend.plugins import Plugins
from edgemem.secret import address, reveal
from edgemem.see.sources.base import SIDE_PX, SourceContext
from edgemem.see.sources.spec import ANY_FILE, scheme_of, suffix_of

if TYPE_CHECKING:
    from edgemem.see.sources.base import Source

SourceSettings = Mapping[str, Mapping[str, Any]]
"""Settings of sources by the name of the component: a recipe's `[source.NAME]`."""


def open_source(
    spec: str, *, rate_fps: float, plugins: Plugins | None = None, stream: str = "", start_us: int | None = None, side_px: int = SIDE_PX,
    settings: SourceSettings | None = None,
) -> Source:  # fmt: skip
    """The source that `spec` names: a video file, a folder of pictures, one picture, a recording of sound, a camera (`0`, `/dev/video0`),
    an address (`rtsp://...`), a microphone (`alsa:default`), a camera with a microphone (`0+alsa:default`), or a source of a plugin.

    `plugins`: those whose sources are used (default: the built-in ones). `rate_fps` is the highest number of frames per second; `start_us`
    is the wall time of a recording's first frame. Raises SourceError with one line about the problem with `spec`.
    """
    plugins, spec = plugins or Plugins.builtin(), address(spec)
    name = source_for(spec, plugins)
    context = SourceContext(spec=spec, stream=stream, rate_fps=rate_fps, start_us=start_us, side_px=side_px)
    opened: Source = plugins.make("sources", name, (settings or {}).get(name, {}), context, f"source {spec}")
    return opened


def source_for(spec: str, plugins: Plugins) -> str:
    """The component that opens `spec`. Raises UsageError for an empty one, SourceError if there is none, and for a recording that does not
    exist.
    """
    if not reveal(spec).strip():
        raise UsageError("the source is empty; name a video, a folder of pictures, a camera or an address")
    schemes, suffixes = _claimed(plugins, "schemes"), _claimed(plugins, "suffixes")
    scheme = scheme_of(reveal(spec), schemes)
    if scheme and scheme not in schemes:
        raise SourceError(f'{spec}: no source opens "{scheme}:" addresses{nearest(scheme, schemes)}')
    if scheme:
        return schemes[scheme]
    return suffixes.get(suffix_of(spec)) or suffixes[ANY_FILE]


def _claimed(plugins: Plugins, what: str) -> dict[str, str]:
    """Component by scheme or suffix. Raises PluginError if two have the same."""
    claimed: dict[str, str] = {}
    for name, component in plugins.components("sources").items():
        for key in component.schemes if what == "schemes" else component.suffixes:
            if key in claimed:
                raise PluginError(f'sources "{claimed[key]}" and "{name}" both open "{key}": install only one of their plugins')
            claimed[key] = name
    return claimed
