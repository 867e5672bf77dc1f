"""What the runtime and the process that builds a plan say to each other."""

from __future__ import annotations

import msgspec


class BuildRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to build, on the process's standard input."""

    onnx: str
    """File of the model."""
    plan: str
    """File to be written."""
    timing_cache: str
    """File that is read if it is there, and written."""
    device: int
    workspace_mib: int
    optimisation_level: int
    tf32: bool
    outputs: tuple[str, ...]
    """Outputs of the card; others are not computed."""
    profiles: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
    """Input with a free dimension -> its smallest, usual and largest shape."""


class BuildLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the process's standard output."""

    phase: str = ""
    """What TensorRT does."""
    done: int = 0
    total: int = 0
    problem: str = ""
    """Why it failed. The last line of a build that went well has none, and no phase."""
