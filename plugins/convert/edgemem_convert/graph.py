"""A small ONNX graph builder, shared by the converters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 18
"""Oldest opset with all operators used here; ONNX Runtime >= 1.14 and TensorRT >= 8.6 read it."""
IR_VERSION = 9

Array = npt.NDArray[Any]
Shape = Sequence[int | str]


class Graph:
    """Collects nodes and constants in order; names have numbers, so that the same input always gives the same bytes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._count = 0

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count}"

    def input(self, name: str, shape: Shape, dtype: int = TensorProto.FLOAT) -> str:
        """Declare an input; a string in `shape` is a free dimension."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def output(self, value: str, name: str, shape: Shape) -> None:
        """Declare `value` (float32) as the output called `name`."""
        self.op("Identity", [value], out=name)
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def const(self, array: npt.ArrayLike, name: str = "") -> str:
        """Add a constant; one with the same `name` is stored once."""
        name = name or self._fresh("const")
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def ints(self, *values: int) -> str:
        """An int64 vector, for axes and shapes."""
        return self.const(np.array(values, np.int64))

    def floats(self, value: float) -> str:
        """A float32 scalar."""
        return self.const(np.array(value, np.float32).reshape(()))

    def op(self, kind: str, inputs: Sequence[str], *, out: str = "", **attributes: Any) -> str:
        """Add a node with one output and return that output's name."""
        out = out or self._fresh(kind.lower())
        self._nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def split(self, value: str, sizes: Sequence[int], axis: int) -> list[str]:
        """Split along `axis` into parts of `sizes`."""
        outs = [self._fresh("split") for _ in sizes]
        self._nodes.append(helper.make_node("Split", [value, self.ints(*sizes)], outs, axis=axis))
        return outs

    def conv(
        self,
        value: str,
        weight: str,
        bias: str | None,
        *,
        strides: Sequence[int],
        dilations: Sequence[int] = (1, 1),
        group: int = 1,
        padding: str = "SAME",
    ) -> str:
        """NCHW convolution; `weight` is [out, in / group, height, width], `padding` is the name in TensorFlow."""
        return self.op(
            "Conv",
            [value, weight, bias] if bias else [value, weight],
            strides=list(strides),
            dilations=list(dilations),
            group=group,
            **AUTO_PAD[padding],
        )

    def save(self, path: Path) -> None:
        """Check the model and write it. Raises onnx.checker.ValidationError when it is not valid ONNX."""
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="edgemem")
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))


AUTO_PAD: dict[str, dict[str, str]] = {"SAME": {"auto_pad": "SAME_UPPER"}, "VALID": {}}
"""TensorFlow's padding modes in ONNX: both put the odd pixel at the end. Without an explicit VALID, ONNX Runtime can fuse a Pad before the
convolution with it."""
