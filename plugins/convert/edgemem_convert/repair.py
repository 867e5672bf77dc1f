"""Repairs ONNX models that were exported for one picture size."""

from __future__ import annotations

from pathlib import Path

import onnx

from edgemem.errors import EngineError
from edgemem_convert.graph import IR_VERSION
from edgemem_convert.settings import RepairSettings


class RepairConverter:
    """Makes dimensions of `members["model"]` free, renames its tensors, and removes the weights from the list of inputs.

    Old exports list every weight as an input, so that ONNX Runtime cannot fold and fuse them: without this, CenterFace at 640x480 takes 23
    ms instead of 172 ms.
    """

    def __init__(self, settings: RepairSettings) -> None:
        self.settings = settings

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write the ONNX file. Raises EngineError for a name that the model does not have."""
        model = onnx.load_from_string(members["model"].read_bytes())
        graph = model.graph
        weights = {tensor.name for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in weights]
        del graph.input[:]
        graph.input.extend(inputs)
        del graph.value_info[:]
        self._shapes({value.name: value for value in [*graph.input, *graph.output]})
        self._rename(graph)
        model.ir_version = max(model.ir_version, 4)  # before 4 every weight had to be an input
        model.ir_version = min(model.ir_version, IR_VERSION)
        onnx.checker.check_model(model)
        out.write_bytes(model.SerializeToString(deterministic=True))

    def _shapes(self, values: dict[str, onnx.ValueInfoProto]) -> None:
        for name, shape in self.settings.shapes.items():
            if name not in values:
                raise EngineError(f"the model has no tensor {name!r}: correct convert.shapes in its card")
            kind = values[name].type.tensor_type.elem_type
            values[name].CopyFrom(onnx.helper.make_tensor_value_info(name, kind, shape))

    def _rename(self, graph: onnx.GraphProto) -> None:
        rename = self.settings.rename
        for value in [*graph.input, *graph.output]:
            value.name = rename.get(value.name, value.name)
        for node in graph.node:
            for names in (node.input, node.output):
                names[:] = [rename.get(name, name) for name in names]
