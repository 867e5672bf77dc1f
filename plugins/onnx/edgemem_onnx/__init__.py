"""ONNX Runtime on the CPU. The library is loaded with the first model."""

from __future__ import annotations

import msgspec

from edgemem.extend.hookspecs import Component, Components, hookimpl
from edgemem.infer.runtime import Runtime, RuntimeContext


class OnnxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the runtime."""

    arena: bool = False
    """Keep freed memory for the next run. With all engines loaded: 1,040 MB instead of 500, for up to a quarter less processor time."""
    spinning: bool = False
    """Let idle threads wait actively: a little faster alone, slower when several models share two cores."""


def _runtime(settings: OnnxSettings, context: RuntimeContext) -> Runtime:
    from edgemem_onnx.runtime import OnnxRuntime

    return OnnxRuntime(settings, context.threads)


@hookimpl
def register_runtimes() -> Components:
    """The runtime `onnx`."""
    return (Component("onnx", _runtime, OnnxSettings, "ONNX Runtime on the CPU"),)
