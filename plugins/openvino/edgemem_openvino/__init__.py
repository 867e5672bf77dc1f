"""OpenVINO on the CPU. The library is loaded with the runtime."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Literal

import msgspec

from edgemem.extend import Component, Runtime, RuntimeContext, RuntimeUnavailable, hookimpl


class OpenVinoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the runtime: `[engines.runtimes.openvino]`."""

    precision: Literal["float32", "fastest"] = "float32"
    """Of models in float32. `fastest`: what the processor is fastest at, such as bfloat16 on those with AMX, which changes the results."""


def _runtime(settings: OpenVinoSettings, context: RuntimeContext) -> Runtime:
    # `import openvino` reports itself to its makers through this package, and does without it where it is not installed.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    try:
        from edgemem_openvino.runtime import OpenVinoRuntime
    except ImportError as error:
        raise RuntimeUnavailable(f"OpenVINO cannot be imported: {error}; run: pip install edgemem-openvino") from None
    return OpenVinoRuntime(settings, context.threads)


@hookimpl
def register_runtimes() -> Iterable[Component]:
    """The runtime `openvino`."""
    return (Component("openvino", _runtime, OpenVinoSettings, "OpenVINO on the CPU"),)
