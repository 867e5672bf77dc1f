"""ONNX Runtime on the CPU. The library is loaded with the first model."""

from __future__ import annotations

import msgspec

from edgemem.extend.hookspecs import Component, Components, hookimpl
from edgemem.infer.runtime import Runtime, RuntimeContext


class OnnxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the runtime."""

    arena: bool = False
    """Each model keeps freed memory for its own next run (1,040 MB with all engines). Else models of one size share an arena, and those for
    inputs of any size give back what they freed."""
    spinning: bool = False
    """Let idle threads wait actively: a little faster alone, slower when several models share two cores."""


def _runtime(settings: OnnxSettings, context: RuntimeContext) -> Runtime:
    from edgemem_onnx.runtime import OnnxRuntime

    return OnnxRuntime(settings, context.threads)


@hookimpl
def register_runtimes() -> Components:
    """The runtime `onnx`."""
    return (Component("onnx", _runtime, OnnxSettings, "ONNX Runtime on the CPU"),)
