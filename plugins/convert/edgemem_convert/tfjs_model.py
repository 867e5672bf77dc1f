"""TensorFlow.js graph models to ONNX.

TensorFlow.js convolves in NHWC, ONNX in NCHW. Every value is stored as an ONNX value and the permutation that must still be applied.
Operators that work on single elements pass the permutation on, so that almost no Transpose is written (118 of them would take NanoDet more
time than its convolutions).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from edgemem.errors import EngineError
from edgemem_convert.graph import AUTO_PAD, Array, Graph
from edgemem_convert.settings import TfjsSettings

BINARY = {"Add": "Add", "AddV2": "Add", "Mul": "Mul", "Sub": "Sub", "Maximum": "Max", "Minimum": "Min", "RealDiv": "Div"}
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


class TfjsConverter:
    """Turns `members["graph"]` (.json) and `members["weights"]` (.bin) into ONNX with the input layout of the original."""

    def __init__(self, settings: TfjsSettings) -> None:
        self.settings = settings

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write the ONNX file. Raises EngineError, which names an unknown operator or option."""
        model = msgspec.json.decode(members["graph"].read_bytes())
        weights = read_weights(model, members["weights"].read_bytes())
        _Conversion(model, weights, self.settings).save(out)


def read_weights(model: dict[str, Any], data: bytes) -> dict[str, Array]:
    """The constants of a graph model: float32, int64 or bool, dequantised if they are stored quantised."""
    weights: dict[str, Array] = {}
    offset = 0
    for entry in (entry for group in model["weightsManifest"] for entry in group["weights"]):
        quantised = entry.get("quantization", {})
        stored = np.dtype(quantised.get("dtype", {"bool": "uint8"}.get(entry["dtype"], entry["dtype"])))
        count = int(np.prod(entry["shape"]))
        values = np.frombuffer(data, stored, count, offset)
        offset += count * stored.itemsize
        if "scale" in quantised:
            values = values * np.float32(quantised["scale"]) + np.float32(quantised["min"])
        wanted = {"float32": np.float32, "int32": np.int64, "bool": np.bool_}[entry["dtype"]]
        weights[entry["name"]] = values.astype(wanted).reshape(entry["shape"])
    return weights


class _Node:
    """A node of the graph model with its attributes decoded."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.kind: str = raw["op"]
        self.name: str = raw["name"]
        self.inputs = [name.lstrip("^").removesuffix(":0") for name in raw.get("input", [])]
        self._attributes: dict[str, Any] = raw.get("attr", {})

    def text(self, key: str) -> str:
        return base64.b64decode(self._attributes[key]["s"]).decode()

    def flag(self, key: str) -> bool:
        return bool(self._attributes.get(key, {}).get("b", False))

    def number(self, key: str) -> float:
        return float(self._attributes[key]["f"])

    def ints(self, key: str) -> list[int]:
        return [int(n) for n in self._attributes.get(key, {}).get("list", {}).get("i", [])]

    def fused(self) -> list[str]:
        return [base64.b64decode(s).decode() for s in self._attributes.get("fused_ops", {}).get("list", {}).get("s", [])]

    def shape(self) -> list[int]:
        shape = self._attributes["shape"]
        return [int(d["size"]) for d in shape.get("shape", shape)["dim"]]


class _Value(NamedTuple):
    """A value of the original: `name` in the ONNX graph, transposed by `due`."""

    name: str
    due: tuple[int, ...] = ()

    def axis(self, logical: int) -> int:
        """The axis of the ONNX value for the axis `logical` of the original."""
        if not self.due:
            return logical
        return self.due[logical % len(self.due)]


class _Conversion:
    def __init__(self, model: dict[str, Any], weights: dict[str, Array], settings: TfjsSettings) -> None:
        self.graph = Graph("tfjs")
        self.weights = weights
        self.settings = settings
        self.values: dict[str, _Value] = {}
        for raw in model["modelTopology"]["node"]:
            self._node(_Node(raw))
        for name, renamed in settings.outputs.items():
            dims = next(v for k, v in model["signature"]["outputs"].items() if k.removesuffix(":0") == name)
            shape = [int(d["size"]) for d in dims["tensorShape"]["dim"]]
            self.graph.output(self._plain(name), renamed, self._batched(shape))

    def save(self, path: Path) -> None:
        self.graph.save(path)

    def _batched(self, shape: list[int]) -> list[int | str]:
        return ["batch" if self.settings.batch else 1, *shape[1:]]

    def _node(self, node: _Node) -> None:
        if node.kind == "Const":
            return
        if node.kind in BINARY:
            self._binary(node)
            return
        handler: Callable[[_Node], _Value | None] | None = getattr(self, f"_op_{node.kind.lower().lstrip('_')}", None)
        if handler is None:
            raise EngineError(f"the tfjs converter does not know the operator {node.kind}: use a model without it")
        value = handler(node)
        if value is not None:
            self.values[node.name] = value

    # Values and their layout

    def _value(self, name: str) -> _Value:
        if name not in self.values:
            self.values[name] = _Value(self.graph.const(self.weights[name]))
        return self.values[name]

    def _plain(self, name: str) -> str:
        """The value in the layout of the original: a pending Transpose is written now."""
        value = self._value(name)
        return self.graph.op("Transpose", [value.name], perm=list(value.due)) if value.due else value.name

    def _permuted(self, name: str, permutation: Sequence[int]) -> _Value:
        value = self._value(name)
        due = tuple(value.axis(axis) for axis in permutation)
        return _Value(value.name, () if due == tuple(sorted(due)) else due)

    def _channels_first(self, name: str) -> str:
        value = self._permuted(name, TO_NCHW)
        return self.graph.op("Transpose", [value.name], perm=list(value.due)) if value.due else value.name

    def _same(self, kind: str, node: _Node, **attributes: Any) -> _Value:
        """An operator that works on every element separately."""
        value = self._value(node.inputs[0])
        return value._replace(name=self.graph.op(kind, [value.name], **attributes))

    # Operators

    def _binary(self, node: _Node) -> None:
        kind = BINARY[node.kind]
        if all(name in self.weights for name in node.inputs):
            fold = {"Add": np.add, "Mul": np.multiply, "Sub": np.subtract}[kind]
            self.weights[node.name] = fold(*(self.weights[name] for name in node.inputs))
            return
        due = next((self.values[name].due for name in node.inputs if name not in self.weights), ())
        self.values[node.name] = _Value(self.graph.op(kind, [self._aligned(name, due) for name in node.inputs]), due)

    def _aligned(self, name: str, due: tuple[int, ...]) -> str:
        """An operand in the layout of a value with the pending permutation `due`."""
        if name in self.weights and due:
            weight = self.weights[name]
            whole = weight.reshape([1] * (len(due) - weight.ndim) + list(weight.shape))
            return self.graph.const(whole.transpose(np.argsort(due)))
        if self._value(name).due == due:
            return self._value(name).name
        plain = self._plain(name)
        return self.graph.op("Transpose", [plain], perm=np.argsort(due).tolist()) if due else plain

    def _op_placeholder(self, node: _Node) -> _Value:
        return _Value(self.graph.input(node.name, self._batched(node.shape())))

    def _op_identity(self, node: _Node) -> _Value:
        return self._value(node.inputs[0])

    def _op_relu(self, node: _Node) -> _Value:
        return self._same("Relu", node)

    def _op_sigmoid(self, node: _Node) -> _Value:
        return self._same("Sigmoid", node)

    def _op_leakyrelu(self, node: _Node) -> _Value:
        return self._same("LeakyRelu", node, alpha=node.number("alpha"))

    def _op_conv2d(self, node: _Node) -> _Value:
        return self._convolve(node, self.weights[node.inputs[1]].transpose(3, 2, 0, 1), group=1)

    def _op_depthwiseconv2dnative(self, node: _Node) -> _Value:
        height, width, channels, multiplier = self.weights[node.inputs[1]].shape
        weight = self.weights[node.inputs[1]].transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)
        return self._convolve(node, weight, group=channels)

    def _convolve(self, node: _Node, weight: Array, group: int) -> _Value:
        fused = node.fused()
        value = self.graph.conv(
            self._channels_first(node.inputs[0]),
            self.graph.const(weight),
            self.graph.const(self.weights[node.inputs[2]]) if "BiasAdd" in fused else None,
            strides=node.ints("strides")[1:3],
            dilations=node.ints("dilations")[1:3] or (1, 1),
            group=group,
            padding=node.text("padding"),
        )
        return _Value(self._activate(value, fused), TO_NHWC)

    def _activate(self, value: str, fused: list[str]) -> str:
        for kind in fused:
            if kind == "Relu":
                value = self.graph.op("Relu", [value])
            elif kind == "Relu6":
                value = self.graph.op("Clip", [value, self.graph.floats(0), self.graph.floats(6)])
            elif kind != "BiasAdd":
                raise EngineError(f"the tfjs converter does not know the fused operator {kind}: use a model without it")
        return value

    def _op_fusedmatmul(self, node: _Node) -> _Value:
        value = self.graph.op("MatMul", [self._plain(name) for name in node.inputs[:2]])
        if "BiasAdd" in node.fused():
            value = self.graph.op("Add", [value, self._plain(node.inputs[2])])
        return _Value(self._activate(value, node.fused()))

    def _op_maxpool(self, node: _Node) -> _Value:
        value = self.graph.op(
            "MaxPool",
            [self._channels_first(node.inputs[0])],
            kernel_shape=node.ints("ksize")[1:3],
            strides=node.ints("strides")[1:3],
            **AUTO_PAD[node.text("padding")],
        )
        return _Value(value, TO_NHWC)

    def _op_resizebilinear(self, node: _Node) -> _Value:
        value = self._channels_first(node.inputs[0])
        head = self.graph.op("Shape", [value], start=0, end=2)
        size = self.graph.op("Concat", [head, self.graph.ints(*self.weights[node.inputs[1]].ravel())], axis=0)
        mode = "align_corners" if node.flag("align_corners") else "asymmetric"
        if node.flag("half_pixel_centers"):
            mode = "half_pixel"
        value = self.graph.op("Resize", [value, "", "", size], mode="linear", coordinate_transformation_mode=mode)
        return _Value(value, TO_NHWC)

    def _op_transpose(self, node: _Node) -> _Value:
        return self._permuted(node.inputs[0], [int(n) for n in self.weights[node.inputs[1]].ravel()])

    def _op_pad(self, node: _Node) -> _Value:
        value, amounts = self._value(node.inputs[0]), self.weights[node.inputs[1]]
        fill = float(self.weights[node.inputs[2]].ravel()[0]) if len(node.inputs) > 2 else 0.0
        if not amounts.any():
            return value
        amounts = amounts[np.argsort(value.due)] if value.due else amounts
        padded = self.graph.op("Pad", [value.name, self.graph.ints(*amounts.T.ravel()), self.graph.floats(fill)])
        return value._replace(name=padded)

    _op_padv2 = _op_pad

    def _op_softmax(self, node: _Node) -> _Value:
        return _Value(self.graph.op("Softmax", [self._plain(node.inputs[0])], axis=-1))

    def _op_mean(self, node: _Node) -> _Value:
        axes = self.graph.ints(*self.weights[node.inputs[1]].ravel())
        mean = self.graph.op("ReduceMean", [self._plain(node.inputs[0]), axes], keepdims=int(node.flag("keep_dims")))
        return _Value(mean)

    def _op_reshape(self, node: _Node) -> _Value:
        shape = self.graph.ints(*self.weights[node.inputs[1]].ravel())
        return _Value(self.graph.op("Reshape", [self._plain(node.inputs[0]), shape]))

    def _op_concatv2(self, node: _Node) -> _Value:
        first = self._value(node.inputs[0])
        parts = [self._aligned(name, first.due) for name in node.inputs[:-1]]
        return first._replace(name=self.graph.op("Concat", parts, axis=first.axis(int(self.weights[node.inputs[-1]].item()))))

    def _op_splitv(self, node: _Node) -> None:
        value = self._value(node.inputs[0])
        sizes = [int(n) for n in self.weights[node.inputs[1]].ravel()]
        axis = value.axis(int(self.weights[node.inputs[2]].item()))
        for index, part in enumerate(self.graph.split(value.name, sizes, axis)):
            self.values[f"{node.name}:{index}" if index else node.name] = value._replace(name=part)

    def _op_sparsetodense(self, node: _Node) -> None:
        """Of constants: the shapes that a PyTorch export computes at run time. Only the empty one occurs."""
        shape, values, default = (self.weights[name] for name in node.inputs[1:4])
        if values.size:
            raise EngineError("the tfjs converter only knows an empty SparseToDense: use a model without it")
        self.weights[node.name] = np.full(shape.ravel(), default.ravel()[0] if default.size else 0, dtype=np.int64)
