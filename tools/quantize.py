#!/usr/bin/env python3
"""Makes a lighter file of a fetched engine's model, with the precision in the ONNX file itself, and a card for it.

    tools/quantize.py fp16 nanodet --check film.mp4                              float16 inside, the same tensors outside
    tools/quantize.py int8 nanodet --calibrate film.mp4 --check pictures/        int8 by Q/DQ nodes, symmetric, a scale per channel
    tools/quantize.py lint nanodet                                               what a strongly typed TensorRT network does not take

TensorRT 11 has no flags for precision any more, and 10.3 to 10.16 do not need them: the types in the file are the types that run. The same
file runs on ONNX Runtime, so it is compared with the original here, without a GPU: through the engine's own decoder on the pictures, speech
and texts of --check, which must be others than those of --calibrate. A file that is further apart than its tolerance is not kept.

The new card is written to the data directory (`cards/NAME.toml` with its files); `edgemem engines fetch NAME` installs it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import tomli_w
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16

from edgemem.cli.app import CommandContext
from edgemem.errors import EdgememError, EngineError, UsageError
from edgemem.extend.environment import Environment
from edgemem.infer.card import EngineCard, Tolerance
from edgemem.infer.fetch import ensure, installed, sha256_of
from edgemem.infer.roles import Engine
from edgemem.serve.parity import CardParity, compare, exercise, read_samples

FLOAT32_OPERATORS = [*DEFAULT_OP_BLOCK_LIST]
"""Operators that stay in float32: ONNX Runtime's own list, of those that have no float16 or lose too much in it."""
INT8_OPERATORS = ["Conv", "MatMul", "Gemm"]
"""Operators that gain from int8 on a GPU; what is between them stays in float32."""
TOLERANCES = {"fp16": Tolerance(cosine=0.999), "int8": Tolerance(cosine=0.98)}
"""What a lighter file must keep. Chosen before any was made: float16 has 11 bits of mantissa, and the thresholds of vector spaces are given
to two digits."""
SHOWN = 10
"""So many lines of a list are printed."""
_NOT_FOR_TENSORRT = frozenset({
    "QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearGlobalAveragePool", "QGemm", "ConvInteger", "MatMulInteger",
    "DynamicQuantizeLinear",
})  # fmt: skip
"""Quantised operators other than Q/DQ pairs."""


class Recorded(CalibrationDataReader):  # type: ignore[misc]
    """The inputs that a decoder gave to a model, for ONNX Runtime's calibration."""

    def __init__(self, inputs: Sequence[Mapping[str, Any]]) -> None:
        self._rest = iter(inputs)

    def get_next(self) -> dict[str, Any] | None:
        """Called by ONNX Runtime until there are no more."""
        found = next(self._rest, None)
        return None if found is None else dict(found)


class _Recorder:
    """An engine that keeps what it is given."""

    def __init__(self, engine: Engine, inputs: list[dict[str, Any]]) -> None:
        self._engine, self._inputs = engine, inputs
        self.metadata = engine.metadata

    def infer(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        self._inputs.append({name: array.copy() for name, array in arrays.items()})
        return self._engine.infer(arrays)

    def close(self) -> None:
        self._engine.close()


def to_float16(source: Path, out: Path) -> None:
    """The model with float16 inside; inputs and outputs keep their types, so that decoders and cards stay as they are."""
    model = convert_float_to_float16(onnx.load(str(source)), keep_io_types=True, op_block_list=FLOAT32_OPERATORS)
    onnx.save(model, str(out))


def to_int8(source: Path, out: Path, inputs: Sequence[Mapping[str, Any]]) -> None:
    """The model with symmetric Q/DQ pairs around its products, scales from the ranges of `inputs`. Biases stay in float32, because TensorRT
    takes no dequantised int32.
    """
    quantize_static(
        str(source),
        str(out),
        Recorded(inputs),
        quant_format=QuantFormat.QDQ,
        op_types_to_quantize=INT8_OPERATORS,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
        extra_options={"ActivationSymmetric": True, "WeightSymmetric": True, "QuantizeBias": False},
    )


def lint(model: onnx.ModelProto) -> list[str]:
    """What TensorRT's parser does not take of a quantised model: zero points other than 0, other types than int8, other operators."""
    values = {one.name: one for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            values[node.output[0]] = node.attribute[0].t
    found = []
    for node in model.graph.node:
        name = node.name or node.output[0]
        if node.op_type in _NOT_FOR_TENSORRT:
            found.append(f"{name}: {node.op_type} is no Q/DQ pair")
        elif node.op_type in {"QuantizeLinear", "DequantizeLinear"} and len(node.input) > 2:
            found += _zero_point(name, node.op_type, values.get(node.input[2]))
    return found


def _zero_point(name: str, operator: str, point: onnx.TensorProto | None) -> list[str]:
    if point is None:
        return [f"{name}: the zero point of {operator} is not in the file"]
    if point.data_type != TensorProto.INT8:
        return [f"{name}: {operator} in {TensorProto.DataType.Name(point.data_type)} instead of INT8"]
    return (
        [f"{name}: {operator} with the zero point {int(np.ravel(numpy_helper.to_array(point))[0])}"]
        if numpy_helper.to_array(point).any()
        else []
    )


def record(environment: Environment, card: EngineCard, specs: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The inputs that the decoder of a card gives to each of its models on these samples."""
    inputs: dict[str, list[dict[str, Any]]] = {model: [] for model in card.models}
    settings = msgspec.structs.replace(environment.settings.engines, runtime=["onnx"], roles={card.role: card.name})

    def around(loaded: EngineCard, model: str, engine: Engine) -> Engine:
        return _Recorder(engine, inputs[model]) if loaded.name == card.name else engine

    with environment.make_engines(settings, around) as engines:
        exercise(engines.role(card.role), card.role, read_samples(specs, environment), engines)
    return inputs


def make(environment: Environment, kind: str, card: EngineCard, name: str, calibrate: Sequence[str]) -> EngineCard:
    """Write the lighter files and the card of them into the data directory, and install them."""
    files = installed(card, environment.home)
    if files is None:
        raise EngineError(f"{card.name} is not fetched; run: edgemem engines fetch {card.name}")
    inputs = record(environment, card, calibrate) if kind == "int8" else {}
    folder = environment.home / "cards"
    folder.mkdir(parents=True, exist_ok=True)
    changed = {described.file: model for model, described in card.models.items()}
    sources = []
    for member, file in card.files.items():
        out = folder / f"{name}.{file}"
        if member not in changed:
            shutil.copyfile(files[member], out)
        elif kind == "fp16":
            to_float16(files[member], out)
        else:
            to_int8(files[member], out, inputs[changed[member]])
        sources.append(
            {"kind": "file", "path": out.name, "sha256": sha256_of(out), "size_bytes": out.stat().st_size, "members": {member: ""}}
        )
    data = _without_nothing(msgspec.to_builtins(card))
    data |= {"name": name, "source": sources, "about": f"{card.about}; {kind}", "optional": True, "priority": card.priority - 1}
    data["precision"] = {"fp16": "float16"}.get(kind, kind)
    data["tolerance"] = msgspec.to_builtins(_tolerance(kind, card))
    for key in ("origin", "convert", "cost"):
        data.pop(key, None)
    path = folder / f"{name}.toml"
    path.write_bytes(tomli_w.dumps(data).encode())
    environment.cards[name] = msgspec.convert({**data, "origin": str(path)}, EngineCard)
    ensure(environment.cards[name], environment.home, {})
    return environment.cards[name]


def _tolerance(kind: str, card: EngineCard) -> Tolerance:
    """That of the kind, and the agreement that the card asks for."""
    return msgspec.structs.replace(TOLERANCES[kind], agreement=card.tolerance.agreement)


def _without_nothing(value: Any) -> Any:
    """TOML has no word for nothing."""
    if isinstance(value, dict):
        return {key: _without_nothing(one) for key, one in value.items() if one is not None}
    return [_without_nothing(one) for one in value] if isinstance(value, list) else value


def remove(environment: Environment, card: EngineCard) -> None:
    """Take away a card that is not good enough, with its files."""
    for path in (environment.home / "cards").glob(f"{card.name}.*"):
        path.unlink()
    shutil.rmtree(environment.home / "engines" / card.name, ignore_errors=True)


def report(found: CardParity, card: EngineCard, before: EngineCard, home: Path) -> Iterator[str]:
    """Sizes, cosines and what TensorRT would not take, line by line."""
    for model in found.models:
        files, old = installed(card, home), installed(before, home)
        assert files is not None
        assert old is not None
        file = before.models[model.model].file
        yield f"{model.model}: {old[file].stat().st_size / 1e6:.1f} MB -> {files[file].stat().st_size / 1e6:.1f} MB, {model.inputs} inputs"
        for one in model.outputs:
            agreement = "" if one.agreement is None else f", agreement {one.agreement:.3f}"
            difference = f"largest difference {one.largest_difference:.3g} of {one.largest_value:.3g}"
            yield f"  {one.output}: cosine {one.cosine:.5f}, {difference}{agreement}"
        yield from (f"  TensorRT: {line}" for line in lint(onnx.load(str(files[file])))[:SHOWN])


def main() -> int:
    """See the module. Exit code 1 if the new file is too far from the original, or if `lint` finds anything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["fp16", "int8", "lint"])
    parser.add_argument("card")
    parser.add_argument("--name", help="name of the new card (default: CARD-fp16, CARD-int8)")
    parser.add_argument("--calibrate", action="append", default=[], metavar="SOURCE", help="int8: real inputs for the ranges")
    parser.add_argument("--check", action="append", default=[], metavar="SOURCE", help="real inputs for the comparison")
    given = parser.parse_args()
    environment = CommandContext(None, ())
    try:
        return _run(environment, given)
    except EdgememError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def _run(environment: Environment, given: argparse.Namespace) -> int:
    if given.card not in environment.cards:
        raise UsageError(f'no engine is called "{given.card}"')
    card = environment.cards[given.card]
    if given.kind == "lint":
        files = installed(card, environment.home) or {}
        found = [
            f"{model}: {line}" for model, one in card.models.items() if one.file in files for line in lint(onnx.load(str(files[one.file])))
        ]
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        print(*found[:SHOWN] or [f"{card.name}: nothing that TensorRT does not take is known of it"], *more, sep="\n")
        return int(bool(found))
    if not given.check or (given.kind == "int8" and not given.calibrate) or set(given.check) & set(given.calibrate):
        raise UsageError("give real inputs with --check, for int8 also with --calibrate, and not the same ones for both")
    made = make(environment, given.kind, card, given.name or f"{card.name}-{given.kind}", given.calibrate)
    compared = compare(
        environment, card.name, read_samples(given.check, environment), runtime="onnx", against="onnx", variant=made.name, repeat=20
    )
    print(*report(compared, made, card, environment.home), sep="\n")
    if compared.problem:
        remove(environment, made)
        print(f"not kept: {compared.problem}", file=sys.stderr)
        return 1
    print(f"kept as {made.name}: {made.origin}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
