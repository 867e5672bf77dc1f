"""Converts TensorFlow Lite (quantised convolutional classifiers) to ONNX, in float or with the integers of the original.

Value of an integer: real = scale * (q - zero_point), with one scale per tensor or per channel (Jacob et al. 2018, eq. 1). In float the
weights are converted with it and activations are not changed. In the quantised form the graph has pairs of QuantizeLinear and
DequantizeLinear, which ONNX Runtime and TensorRT fuse to integer operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    The ONNX input is float32 [batch, 3, height, width] with pixel values 0..255, which the original has as uint8.
    """

    def __init__(self, settings: TfliteSettings) -> None:
        self.settings = settings

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write the ONNX file. Raises EngineError, which names an unknown operator or option."""
        kind = _QuantisedConversion if self.settings.quantised else _Conversion
        kind(members["model"].read_bytes(), self.settings).save(out)


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
        self.names[index] = self._pixels(pixels, *self._levels(index))

    def _pixels(self, pixels: str, scale: float, zero: int) -> str:
        """The real values of pixels 0..255."""
        shifted = self.graph.op("Sub", [pixels, self.graph.floats(zero)])
        return self.graph.op("Mul", [shifted, self.graph.floats(scale)])

    def _operator(self, operator: Any) -> None:
        code = self.model.OperatorCodes(operator.OpcodeIndex())
        name = OPERATORS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        handler: Callable[[Any], str] | None = getattr(self, f"_op_{name.lower()}", None)
        if handler is None:
            raise EngineError(f"the tflite converter does not know the operator {name}: use a model without it")
        self.names[operator.Outputs(0)] = self._stored(name, operator.Outputs(0), handler(operator))

    def _stored(self, _operator: str, _tensor: int, value: str) -> str:
        """An activation in the form for the next operators."""
        return value

    def _shape(self, tensor: int) -> Array:
        shape: Array = self.subgraph.Tensors(tensor).ShapeAsNumpy()
        return shape

    def _quantisation(self, tensor: int) -> tuple[Array, Array]:
        parameters = self.subgraph.Tensors(tensor).Quantization()
        if parameters is None or not parameters.ScaleLength():
            return np.ones(1, np.float32), np.zeros(1, np.int64)
        return parameters.ScaleAsNumpy(), parameters.ZeroPointAsNumpy()

    def _levels(self, tensor: int) -> tuple[float, int]:
        """Scale and zero point of an activation with integers 0..255 (shifted if necessary)."""
        scale, zero = self._quantisation(tensor)
        shift = 128 if self.subgraph.Tensors(tensor).Type() == tflite.TensorType.INT8 else 0
        return float(scale[0]), int(zero[0]) + shift

    def _values(self, tensor: int, axes: Sequence[int]) -> Array:
        """The integers of a constant, with axes permuted so that the output channels come first."""
        described = self.subgraph.Tensors(tensor)
        raw = self.model.Buffers(described.Buffer()).DataAsNumpy().tobytes()
        values: Array = np.frombuffer(raw, DTYPES[described.Type()]).reshape(self._shape(tensor)).transpose(axes)
        return values

    def _constant(self, tensor: int, axes: Sequence[int], name: str = "") -> str:
        """The real values of a constant."""
        values = self._values(tensor, axes).astype(np.float32)
        scale, zero = (part.astype(np.float32).reshape(-1, *[1] * (values.ndim - 1)) for part in self._quantisation(tensor))
        return self.graph.const((values - zero) * scale, name)

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

    def _convolve(self, operator: Any, axes: Sequence[int], group: int, options: Any) -> str:
        value = self.graph.conv(
            self.names[operator.Inputs(0)],
            self._constant(operator.Inputs(1), axes),
            self._constant(operator.Inputs(2), (0,)),
            strides=(options.StrideH(), options.StrideW()),
            dilations=(options.DilationHFactor(), options.DilationWFactor()),
            group=group,
            padding=PADDING[options.Padding()],
        )
        return self._activate(value, options.FusedActivationFunction())

    def _op_conv_2d(self, operator: Any) -> str:
        return self._convolve(operator, (0, 3, 1, 2), 1, self._options(operator, tflite.Conv2DOptions))

    def _op_depthwise_conv_2d(self, operator: Any) -> str:
        channels = int(self._shape(operator.Inputs(0))[3])
        return self._convolve(operator, (3, 0, 1, 2), channels, self._options(operator, tflite.DepthwiseConv2DOptions))

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
        weight, bias = self._constant(operator.Inputs(1), (0, 1), self.settings.weights), self._constant(operator.Inputs(2), (0,))
        value = self.graph.op("Gemm", [self.names[operator.Inputs(0)], weight, bias], transB=1)
        options = self._options(operator, tflite.FullyConnectedOptions)
        return self._activate(value, options.FusedActivationFunction())

    def _op_softmax(self, operator: Any) -> str:
        return self.graph.op("Softmax", [self.names[operator.Inputs(0)]], axis=-1)


class _QuantisedConversion(_Conversion):
    """The same graph with the integers of the original; each tensor is followed by its dequantisation."""

    def _pixels(self, pixels: str, scale: float, zero: int) -> str:
        integers = self.graph.op("QuantizeLinear", [pixels, self.graph.floats(1), self._byte(0)])
        return self._dequantised(integers, scale, zero)

    def _stored(self, operator: str, tensor: int, value: str) -> str:
        """Rounded as in the original, except the last step: probabilities in steps of 1/256 would lose small values."""
        if operator in {"QUANTIZE", "SOFTMAX"}:
            return value
        scale, zero = self._levels(tensor)
        integers = self.graph.op("QuantizeLinear", [value, self.graph.floats(scale), self._byte(zero)])
        return self._dequantised(integers, scale, zero)

    def _dequantised(self, integers: str, scale: float, zero: int) -> str:
        return self.graph.op("DequantizeLinear", [integers, self.graph.floats(scale), self._byte(zero)])

    def _byte(self, value: int) -> str:
        return self.graph.const(np.array(value, np.uint8))

    def _constant(self, tensor: int, axes: Sequence[int], name: str = "") -> str:
        """Weights as int8 with zero points at or near 0, which is best for integer hardware; biases as int32."""
        values = self._values(tensor, axes)
        scale, zero = self._quantisation(tensor)
        if values.dtype == np.uint8:
            values, zero = (values.astype(np.int16) - 128).astype(np.int8), zero - 128
        levels = (part if len(part) > 1 else part[0] for part in (scale, zero.astype(values.dtype)))
        return self.graph.op("DequantizeLinear", [self.graph.const(values, name), *map(self.graph.const, levels)], axis=0)
