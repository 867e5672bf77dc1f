"""Converts speaker encoders made of LSTM layers from torch to ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgemem.errors import EngineError
from edgemem_convert.graph import Array, Graph
from edgemem_convert.settings import LstmSettings
from edgemem_convert.torch_file import read_tensors


class LstmConverter:
    """LSTM layers over a spectrogram; the last state, after a linear layer and ReLU, is normalised to unit length (GE2E, Wan et al.
    2018).
    """

    def __init__(self, settings: LstmSettings) -> None:
        self.settings = settings

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Convert `members["weights"]` to ONNX: mel [batch, frames, bands] -> embedding [batch, dim]. Raises EngineError."""
        prefix = self.settings.prefix
        tensors = {name.removeprefix(prefix): array for name, array in read_tensors(members["weights"]).items() if name.startswith(prefix)}
        try:
            self._graph(tensors).save(out)
        except KeyError as error:
            raise EngineError(f"{members['weights'].name} has no tensor {error}: it is no LSTM speaker encoder; fetch it again") from None

    def _graph(self, tensors: dict[str, Array]) -> Graph:
        layers = sum(name.startswith("lstm.weight_ih_l") for name in tensors)
        bands, dim = tensors["lstm.weight_ih_l0"].shape[1], tensors["linear.weight"].shape[0]
        graph = Graph("speaker")
        hidden = graph.op("Transpose", [graph.input("mel", ["batch", "frames", bands])], perm=[1, 0, 2])
        for layer in range(layers):
            hidden = _layer(graph, hidden, tensors, layer)
        last = graph.op("Squeeze", [graph.op("Slice", [hidden, graph.ints(-1), graph.ints(1 << 62), graph.ints(0)]), graph.ints(0)])
        weight, bias = (graph.const(tensors[f"linear.{kind}"]) for kind in ("weight", "bias"))
        raw = graph.op("Relu", [graph.op("Gemm", [last, weight, bias], transB=1)])
        length = graph.op("ReduceL2", [raw, graph.ints(1)], keepdims=1)
        graph.output(graph.op("Div", [raw, graph.op("Max", [length, graph.floats(1e-9)])]), "embedding", ["batch", dim])
        return graph


def _layer(graph: Graph, value: str, tensors: dict[str, Array], layer: int) -> str:
    """One layer over [frames, batch, size]; returns all its states [frames, batch, hidden]."""
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    inward, recurrent, bias_in, bias_back = (_gates(tensors[f"lstm.{kind}_l{layer}"]) for kind in kinds)
    bias = np.concatenate([bias_in, bias_back])[None]
    inputs = [value, graph.const(inward[None]), graph.const(recurrent[None]), graph.const(bias)]
    states = graph.op("LSTM", inputs, hidden_size=recurrent.shape[1])
    return graph.op("Squeeze", [states, graph.ints(1)])


def _gates(rows: Array) -> Array:
    """Reorder the gates from torch (input, forget, cell, output) to ONNX (input, output, forget, cell)."""
    enter, forget, cell, leave = np.split(rows, 4)
    return np.concatenate([enter, leave, forget, cell])
