"""TensorFlow Lite (quantised convolutional classifiers) to float ONNX.

Weights are dequantised (real = scale * (q - zero_point), per channel; Jacob et al. 2018, eq. 1); activations run in float.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from edgemem.errors import EngineError
from edgemem_convert.graph import Array, Graph
from edgemem_convert.settings import TfliteSettings

DTYPES = {
    tflite.TensorType.FLOAT32: np.float32,
    tflite.TensorType.INT32: np.int32,
    tflite.TensorType.UINT8: np.uint8,
    tflite.TensorType.INT8: np.int8,
}
PADDING = {tflite.Padding.SAME: "SAME", tflite.Padding.VALID: "VALID"}
OPERATORS = {number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)}


class TfliteConverter:
    """Turns `members["model"]` (.tflite, input uint8 or int8 [1, height, width, 3]) into ONNX.

    The ONNX input is float32 [batch, 3, height, width] holding pixel values 0..255: what the original takes as uint8.
    """

    def __init__(self, settings: TfliteSettings) -> None:
        self.settings = settings

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write the ONNX file. Raises EngineError naming an operator or option that is not known here."""
        _Conversion(members["model"].read_bytes(), self.settings).save(out)


class _Conversion:
    """One pass over the operators; every activation is NCHW until it is flattened."""

    def __init__(self, data: bytes, settings: TfliteSettings) -> None:
        self.model = tflite.Model.GetRootAs(data, 0)
        self.subgraph = self.model.Subgraphs(0)
        self.graph = Graph("tflite")
        self.settings = settings
        self.names: dict[int, str] = {}
        self._input()
        for index in range(self.subgraph.OperatorsLength()):
            self._operator(self.subgraph.Operators(index))
        result = self.subgraph.Outputs(0)
        self.graph.output(self.names[result], settings.output, ["batch", int(self._shape(result)[-1])])

    def save(self, path: Path) -> None:
        self.graph.save(path)

    def _input(self) -> None:
        index = self.subgraph.Inputs(0)
        _, height, width, channels = (int(n) for n in self._shape(index))
        pixels = self.graph.input(self.settings.input, ["batch", channels, height, width])
        scale, zero = self._quantisation(index)
        shifted = self.graph.op("Sub", [pixels, self.graph.floats(float(zero[0]))])
        self.names[index] = self.graph.op("Mul", [shifted, self.graph.floats(float(scale[0]))])

    def _operator(self, operator: Any) -> None:
        code = self.model.OperatorCodes(operator.OpcodeIndex())
        name = OPERATORS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        handler: Callable[[Any], str] | None = getattr(self, f"_op_{name.lower()}", None)
        if handler is None:
            raise EngineError(f"the tflite converter does not know the operator {name}: use a model without it")
        self.names[operator.Outputs(0)] = handler(operator)

    def _shape(self, tensor: int) -> Array:
        shape: Array = self.subgraph.Tensors(tensor).ShapeAsNumpy()
        return shape

    def _quantisation(self, tensor: int) -> tuple[Array, Array]:
        parameters = self.subgraph.Tensors(tensor).Quantization()
        if parameters is None or not parameters.ScaleLength():
            return np.ones(1, np.float32), np.zeros(1, np.int64)
        return parameters.ScaleAsNumpy(), parameters.ZeroPointAsNumpy()

    def _weight(self, tensor: int, channel_axis: int = 0) -> Array:
        """A constant as float32; per-channel scales lie along `channel_axis`."""
        described = self.subgraph.Tensors(tensor)
        raw = self.model.Buffers(described.Buffer()).DataAsNumpy().tobytes()
        values = np.frombuffer(raw, DTYPES[described.Type()]).reshape(self._shape(tensor)).astype(np.float32)
        scale, zero = self._quantisation(tensor)
        along = [1] * values.ndim
        along[channel_axis] = -1
        weight: Array = (values - zero.astype(np.float32).reshape(along)) * scale.reshape(along)
        return weight

    def _options(self, operator: Any, kind: Any) -> Any:
        options, table = kind(), operator.BuiltinOptions()
        options.Init(table.Bytes, table.Pos)
        return options

    def _activate(self, value: str, kind: int) -> str:
        if kind == tflite.ActivationFunctionType.NONE:
            return value
        if kind == tflite.ActivationFunctionType.RELU:
            return self.graph.op("Relu", [value])
        if kind == tflite.ActivationFunctionType.RELU6:
            return self.graph.op("Clip", [value, self.graph.floats(0), self.graph.floats(6)])
        raise EngineError(f"the tflite converter does not know the fused activation {kind}: use a model without it")

    def _op_quantize(self, operator: Any) -> str:
        return self.names[operator.Inputs(0)]

    def _convolve(self, operator: Any, weight: Array, group: int, options: Any) -> str:
        value = self.graph.conv(
            self.names[operator.Inputs(0)],
            weight,
            self._weight(operator.Inputs(2)),
            strides=(options.StrideH(), options.StrideW()),
            dilations=(options.DilationHFactor(), options.DilationWFactor()),
            group=group,
            padding=PADDING[options.Padding()],
        )
        return self._activate(value, options.FusedActivationFunction())

    def _op_conv_2d(self, operator: Any) -> str:
        weight = self._weight(operator.Inputs(1)).transpose(0, 3, 1, 2)
        return self._convolve(operator, weight, 1, self._options(operator, tflite.Conv2DOptions))

    def _op_depthwise_conv_2d(self, operator: Any) -> str:
        weight = self._weight(operator.Inputs(1), channel_axis=3).transpose(3, 0, 1, 2)
        channels = int(self._shape(operator.Inputs(0))[3])
        return self._convolve(operator, weight, channels, self._options(operator, tflite.DepthwiseConv2DOptions))

    def _op_add(self, operator: Any) -> str:
        value = self.graph.op("Add", [self.names[operator.Inputs(0)], self.names[operator.Inputs(1)]])
        return self._activate(value, self._options(operator, tflite.AddOptions).FusedActivationFunction())

    def _op_average_pool_2d(self, operator: Any) -> str:
        options = self._options(operator, tflite.Pool2DOptions)
        window = (options.FilterHeight(), options.FilterWidth())
        if window != tuple(int(n) for n in self._shape(operator.Inputs(0))[1:3]):
            raise EngineError("the tflite converter only knows average pooling over the whole picture")
        return self.graph.op("GlobalAveragePool", [self.names[operator.Inputs(0)]])

    def _op_reshape(self, operator: Any) -> str:
        value = self.graph.op("Flatten", [self.names[operator.Inputs(0)]], axis=1)
        if self.settings.features:
            self.graph.output(value, self.settings.features, ["batch", int(self._shape(operator.Outputs(0))[-1])])
        return value

    def _op_fully_connected(self, operator: Any) -> str:
        weight = self.graph.const(self._weight(operator.Inputs(1)))
        bias = self.graph.const(self._weight(operator.Inputs(2)))
        value = self.graph.op("Gemm", [self.names[operator.Inputs(0)], weight, bias], transB=1)
        options = self._options(operator, tflite.FullyConnectedOptions)
        return self._activate(value, options.FusedActivationFunction())

    def _op_softmax(self, operator: Any) -> str:
        return self.graph.op("Softmax", [self.names[operator.Inputs(0)]], axis=-1)
