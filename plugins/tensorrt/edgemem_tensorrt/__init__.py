"""TensorRT on an NVIDIA GPU. The library is loaded when the runtime is made; without it another runtime serves, and that is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from edgemem.extend import Component, Runtime, RuntimeContext, hookimpl


class TensorRTSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the runtime: `[engines.runtimes.tensorrt]`."""

    device: Annotated[int, msgspec.Meta(ge=0, le=63)] = 0
    """Number of the GPU; a board has one, 0."""
    memory: Literal["auto", "cuda", "pycuda"] = "auto"
    """Library for device memory: cuda-bindings or pycuda. `auto`: the one that can be imported, cuda-bindings first."""
    transfer: Literal["auto", "mapped", "copied"] = "auto"
    """`mapped`: the GPU reads and writes pinned host memory; `copied`: memory of its own. `auto`: mapped where both share the DRAM."""
    workspace_mib: Annotated[int, msgspec.Meta(ge=16, le=65536)] = 1024
    """Most scratch memory of one plan. Without a limit the builder was seen to ask for 15 GB (NVIDIA/TensorRT#4258)."""
    optimisation_level: Annotated[int, msgspec.Meta(ge=0, le=5)] = 3
    """The builder's search for fast kernels: 0 builds quickest, 5 runs fastest; 3 is TensorRT's default."""
    tf32: bool = True
    """Let float32 products use TF32 (10 bits of mantissa), as TensorRT does by default. Off: slower, and closer to the CPU."""
    build: Literal["when_asked", "in_background"] = "when_asked"
    """When a plan is missing or does not fit: wait for `edgemem engines build`, or build it while another runtime serves."""
    build_timeout_s: Annotated[int, msgspec.Meta(ge=10)] = 3600
    """The build of one plan is ended after this time."""


def _runtime(settings: TensorRTSettings, context: RuntimeContext) -> Runtime:
    from edgemem_tensorrt.runtime import make_runtime

    return make_runtime(settings, context.home)


@hookimpl
def register_runtimes() -> Iterable[Component]:
    """The runtime `tensorrt`."""
    return (Component("tensorrt", _runtime, TensorRTSettings, "TensorRT on an NVIDIA GPU; plans are built on the device"),)
