"""BERT sentence encoders (safetensors) to ONNX: Devlin et al. 2018, with the mean pooling of Reimers and Gurevych 2019."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import onnx
from onnx import TensorProto

from edgemem.errors import EngineError
from edgemem_convert.graph import Array, Graph
from edgemem_convert.settings import BertSettings

SAMPLES = (
    "where did I leave my coffee mug",
    "a red bus stops beside the market",
    "two people talk in a meeting room",
    "the cat sleeps on the sofa",
)
"""Sentences on which the int8 model must agree with the float one."""
MIN_COSINE = 0.98
"""Lowest on SAMPLES with all-MiniLM-L6-v2: 0.993; with one scale per tensor: 0.945."""


class BertConverter:
    """Turns `members["model"]` (.safetensors) into ONNX.

    Inputs `input_ids` and `attention_mask`, int64 [batch, tokens]; output `embedding`, float32 [batch, dim], unit length.
    With int8, `members["tokenizer"]` is needed too: the result is compared with the float model on sample sentences.
    """

    def __init__(self, settings: BertSettings) -> None:
        self.settings = settings

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write the ONNX file. Raises EngineError if the quantised model differs too much from the float one."""
        weights = read_safetensors(members["model"].read_bytes())
        if not self.settings.int8:
            build(weights, self.settings).save(out)
            return
        full = out.with_suffix(".fp32")
        try:
            build(weights, self.settings).save(full)
            quantise(full, out)
            cosine = agreement(full, out, members["tokenizer"])
        finally:
            full.unlink(missing_ok=True)
        if cosine < MIN_COSINE:
            raise EngineError(f"the int8 text model differs too much from the float one (cosine {cosine:.3f}): set int8 = false")


def read_safetensors(data: bytes) -> dict[str, Array]:
    """Tensors by name, without a leading `bert.`. The format: length (u64), JSON header, data."""
    length = int.from_bytes(data[:8], "little")
    header = msgspec.json.decode(data[8 : 8 + length])
    header.pop("__metadata__", None)
    dtypes = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
    tensors: dict[str, Array] = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        raw = np.frombuffer(data[8 + length + start : 8 + length + end], dtypes[entry["dtype"]])
        tensors[name.removeprefix("bert.")] = raw.reshape(entry["shape"])
    return tensors


def build(weights: dict[str, Array], settings: BertSettings) -> Graph:
    """The whole encoder as a graph."""
    encoder = _Encoder(weights, settings)
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    value = encoder.embeddings()
    for index in range(layers):
        value = encoder.layer(value, f"encoder.layer.{index}.")
    encoder.pool(value)
    return encoder.graph


class _Encoder:
    def __init__(self, weights: dict[str, Array], settings: BertSettings) -> None:
        self.graph = Graph("bert")
        self.weights = weights
        self.settings = settings
        self.dim = int(weights["embeddings.word_embeddings.weight"].shape[1])
        self.ids = self.graph.input("input_ids", ["batch", "tokens"], TensorProto.INT64)
        mask = self.graph.input("attention_mask", ["batch", "tokens"], TensorProto.INT64)
        self.mask = self.graph.op("Cast", [mask], to=TensorProto.FLOAT)

    def _weight(self, name: str) -> str:
        return self.graph.const(self.weights[name], name)

    def _linear(self, value: str, name: str) -> str:
        weight = self.graph.const(self.weights[name + ".weight"].T, name + ".weight")
        return self.graph.op("Add", [self.graph.op("MatMul", [value, weight]), self._weight(name + ".bias")])

    def _norm(self, value: str, name: str) -> str:
        inputs = [value, self._weight(name + ".weight"), self._weight(name + ".bias")]
        return self.graph.op("LayerNormalization", inputs, axis=-1, epsilon=self.settings.epsilon)

    def embeddings(self) -> str:
        """Sum of word, position and token-type embedding (always the first type), normalised."""
        op, ints = self.graph.op, self.graph.ints
        words = op("Gather", [self._weight("embeddings.word_embeddings.weight"), self.ids])
        tokens = op("Shape", [self.ids], start=1, end=2)
        positions = op("Slice", [self._weight("embeddings.position_embeddings.weight"), ints(0), tokens, ints(0)])
        kind = self.graph.const(self.weights["embeddings.token_type_embeddings.weight"][0])
        total = op("Add", [op("Add", [words, positions]), kind])
        return self._norm(total, "embeddings.LayerNorm")

    def layer(self, value: str, prefix: str) -> str:
        """Self-attention and feed-forward, each with its residual, normalised after (post-norm)."""
        add: Callable[[str, str], str] = lambda a, b: self.graph.op("Add", [a, b])  # noqa: E731
        attended = self._linear(self._attention(value, prefix + "attention.self."), prefix + "attention.output.dense")
        value = self._norm(add(attended, value), prefix + "attention.output.LayerNorm")
        inner = self._gelu(self._linear(value, prefix + "intermediate.dense"))
        return self._norm(add(self._linear(inner, prefix + "output.dense"), value), prefix + "output.LayerNorm")

    def _attention(self, value: str, prefix: str) -> str:
        op, heads = self.graph.op, self.settings.heads
        shape = self.graph.ints(0, 0, heads, self.dim // heads)

        def split(name: str, permutation: list[int]) -> str:
            return op("Transpose", [op("Reshape", [self._linear(value, prefix + name), shape])], perm=permutation)

        scores = op("MatMul", [split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1])])
        scaled = op("Mul", [scores, self.graph.floats(float((self.dim // heads) ** -0.5))])
        hidden = op("Mul", [op("Sub", [self.mask, self.graph.floats(1)]), self.graph.floats(1e4)])
        masked = op("Add", [scaled, op("Unsqueeze", [hidden, self.graph.ints(1, 2)])])
        mixed = op("MatMul", [op("Softmax", [masked], axis=-1), split("value", [0, 2, 1, 3])])
        return op("Reshape", [op("Transpose", [mixed], perm=[0, 2, 1, 3]), self.graph.ints(0, 0, self.dim)])

    def _gelu(self, value: str) -> str:
        """Gaussian error linear unit: x * (1 + erf(x / sqrt 2)) / 2."""
        op, floats = self.graph.op, self.graph.floats
        error = op("Erf", [op("Div", [value, floats(float(np.sqrt(2)))])])
        return op("Mul", [op("Mul", [value, op("Add", [error, floats(1)])]), floats(0.5)])

    def pool(self, value: str) -> None:
        """Mean over the tokens that are not padding, then unit length."""
        op, ints = self.graph.op, self.graph.ints
        mask = op("Unsqueeze", [self.mask, ints(2)])
        total = op("ReduceSum", [op("Mul", [value, mask]), ints(1)], keepdims=0)
        mean = op("Div", [total, op("ReduceSum", [mask, ints(1)], keepdims=0)])
        unit = op("Div", [mean, op("ReduceL2", [mean, ints(-1)], keepdims=1)])
        self.graph.output(unit, "embedding", ["batch", self.dim])


def quantise(full: Path, out: Path) -> None:
    """Dynamic int8: weights in int8 with one scale per channel (with one per tensor the cosine falls to 0.945); activations are quantised
    at run time.
    """
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic

    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it recommends a preprocessing step that is useful only for convolutions
    try:
        quantize_dynamic(full, out, weight_type=QuantType.QInt8, per_channel=True)
    finally:
        root.setLevel(level)
    out.write_bytes(onnx.load(out).SerializeToString(deterministic=True))


def agreement(full: Path, quantised: Path, tokenizer: Path) -> float:
    """Lowest cosine between the two models' vectors of SAMPLES."""
    import onnxruntime
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.enable_padding()
    batch = encoder.encode_batch(list(SAMPLES))
    feeds = {
        "input_ids": np.array([item.ids for item in batch], np.int64),
        "attention_mask": np.array([item.attention_mask for item in batch], np.int64),
    }
    vectors = []
    for path in (full, quantised):
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        vectors.append(np.asarray(session.run(["embedding"], feeds)[0]))
    return float((vectors[0] * vectors[1]).sum(axis=1).min())
