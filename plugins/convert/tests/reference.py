"""Slow numpy versions of the networks, written from their definitions without the converters, as a reference for them."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def run_tfjs(graph: Path, weights: Path, feeds: dict, outputs: list[str]) -> list[np.ndarray]:
    """Execute a TensorFlow.js graph model node by node, NHWC as it is defined."""
    model = json.loads(graph.read_text())
    values = {**_constants(model, weights.read_bytes()), **feeds}
    for node in model["modelTopology"]["node"]:
        if node["op"] not in {"Const", "Placeholder"}:
            inputs = [values[name.removesuffix(":0")] for name in node.get("input", [])]
            result = _node(node["op"], inputs, node.get("attr", {}))
            for index, value in enumerate(result if isinstance(result, list) else [result]):
                values[f"{node['name']}:{index}" if index else node["name"]] = value
    return [values[name] for name in outputs]


def _constants(model: dict, data: bytes) -> dict[str, np.ndarray]:
    values, offset = {}, 0
    for entry in (e for group in model["weightsManifest"] for e in group["weights"]):
        dtype = np.dtype(entry.get("quantization", {}).get("dtype", entry["dtype"]))
        count = math.prod(entry["shape"])
        array = np.frombuffer(data, dtype, count, offset).reshape(entry["shape"])
        values[entry["name"]] = array.astype(np.float32 if entry["dtype"] == "float32" else np.int64)
        offset += count * dtype.itemsize
    return values


def _node(op: str, x: list, attr: dict):
    if op in {"Conv2D", "DepthwiseConv2dNative"}:
        return _conv(x[0], x[1], _ints(attr, "strides")[1], base64.b64decode(attr["padding"]["s"]) == b"SAME", op != "Conv2D")
    if op == "MaxPool":
        size, stride = _ints(attr, "ksize")[1], _ints(attr, "strides")[1]
        return sliding_window_view(x[0], (size, size), (1, 2))[:, ::stride, ::stride].max((-1, -2))
    if op == "_FusedMatMul":
        value = x[0] @ x[1] + x[2]
        return np.maximum(value, 0) if "UmVsdQ==" in attr["fused_ops"]["list"]["s"] else value
    if op == "ResizeBilinear":
        return _bilinear(x[0], *x[1])
    if op in {"Pad", "PadV2"}:
        return np.pad(x[0], x[1], constant_values=float(x[2]) if len(x) > 2 else 0.0)
    if op == "SplitV":
        return np.split(x[0], np.cumsum(x[1])[:-1], int(x[2]))
    if op == "SparseToDense":
        return np.zeros(x[1], np.int64)
    if op == "Softmax":
        power = np.exp(x[0] - x[0].max(-1, keepdims=True))
        return power / power.sum(-1, keepdims=True)
    simple = {
        "Add": np.add, "AddV2": np.add, "Mul": np.multiply, "Minimum": np.minimum, "Maximum": np.maximum,
        "Relu": lambda a: np.maximum(a, 0), "Sigmoid": lambda a: 1 / (1 + np.exp(-a)), "Identity": lambda a: a,
        "LeakyRelu": lambda a: np.where(a > 0, a, a * attr["alpha"]["f"]), "Transpose": np.transpose,
        "Reshape": np.reshape, "Mean": lambda a, axes: a.mean(tuple(axes)), "ConcatV2": lambda *a: np.concatenate(a[:-1], int(a[-1])),
    }  # fmt: skip
    return simple[op](*x)


def _ints(attr: dict, key: str) -> list[int]:
    return [int(n) for n in attr[key]["list"]["i"]]


def _conv(x, weight, stride: int, same: bool, depthwise: bool):
    height, width = weight.shape[:2]
    if same:
        pads = [max((math.ceil(n / stride) - 1) * stride + k - n, 0) for n, k in zip(x.shape[1:3], (height, width), strict=True)]
        x = np.pad(x, [(0, 0), *((p // 2, p - p // 2) for p in pads), (0, 0)])
    windows = sliding_window_view(x, (height, width), (1, 2))[:, ::stride, ::stride]
    if depthwise:
        return np.einsum("bhwcij,ijc->bhwc", windows, weight[..., 0], optimize=True)
    return np.tensordot(windows, weight, ([4, 5, 3], [0, 1, 2]))


def _bilinear(x, rows: int, columns: int):
    """Half-pixel centres, borders repeated."""
    for axis, size in ((1, rows), (2, columns)):
        length = x.shape[axis]
        place = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
        low = np.floor(place).astype(int)
        part = (place - low).reshape([-1 if a == axis else 1 for a in range(4)]).astype(np.float32)
        x = x.take(low, axis) * (1 - part) + x.take(np.minimum(low + 1, length - 1), axis) * part
    return x


def run_bert(weights: dict, ids: np.ndarray, heads: int = 12) -> np.ndarray:
    """One sentence, no padding: token ids [tokens] -> unit vector [dim]."""

    def norm(value, name):
        mean, deviation = value.mean(-1, keepdims=True), value.std(-1, keepdims=True)
        return (value - mean) / np.sqrt(deviation**2 + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(value, name):
        return value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    tables = [weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")]
    x = norm(tables[0][ids] + tables[1][: len(ids)] + tables[2][0], "embeddings.LayerNorm")
    size = x.shape[1] // heads
    for layer in range(6):
        p = f"encoder.layer.{layer}."
        mixed = []
        q, k, v = (linear(x, f"{p}attention.self.{name}") for name in ("query", "key", "value"))
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            power = np.exp(q[:, part] @ k[:, part].T / math.sqrt(size))
            mixed.append(power / power.sum(1, keepdims=True) @ v[:, part])
        x = norm(x + linear(np.concatenate(mixed, 1), f"{p}attention.output.dense"), f"{p}attention.output.LayerNorm")
        inner = linear(x, f"{p}intermediate.dense")
        gelu = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + linear(gelu, f"{p}output.dense"), f"{p}output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)
