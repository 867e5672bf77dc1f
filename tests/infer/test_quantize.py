"""`tools/quantize.py`: lighter files of real models, kept only if they are near enough on pictures that they were not made with."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgemem.extend.testing import load_file
from edgemem.extend.testing.runtimes import MODEL_FILE, expected, inputs
from edgemem.infer.card import load_card

tool = load_file(Path(__file__).resolve().parents[2] / "tools" / "quantize.py")


@pytest.fixture
def fetched(home, weights_home, engines):
    assert engines.has("detect")
    shutil.copytree(weights_home / "engines/nanodet", home / "engines/nanodet")
    return home


@pytest.fixture
def folders(photographs, tmp_path):
    """Some pictures to calibrate with, others to check with."""
    made = {"calibrate": ("coffee", "rocket", "motorcycle_left"), "check": ("astronaut", "chelsea")}
    for folder, names in made.items():
        (tmp_path / folder).mkdir()
        for name in names:
            cv2.imwrite(str(tmp_path / folder / f"{name}.png"), photographs[name])
    return [str(tmp_path / folder) for folder in made]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["quantize.py", *arguments])
    return tool.main()


def test_float16_is_half_the_size_and_the_same_outside(monkeypatch, capsys, fetched, folders):
    assert run(monkeypatch, "fp16", "nanodet", "--check", folders[1]) == 0
    out = capsys.readouterr().out
    assert "kept as nanodet-fp16" in out
    assert "TensorRT:" not in out
    card = load_card(fetched / "cards/nanodet-fp16.toml")
    assert card.precision == "float16"
    assert (card.optional, card.convert, card.tolerance.cosine) == (True, None, 0.999)
    old, new = fetched / "engines/nanodet/nanodet.onnx", fetched / "engines/nanodet-fp16/nanodet.onnx"
    assert new.stat().st_size < 0.52 * old.stat().st_size
    model = onnx.load(new)
    assert {one.type.tensor_type.elem_type for one in (*model.graph.input, *model.graph.output)} == {TensorProto.FLOAT}
    weights = [one for one in model.graph.initializer if len(one.dims) == 4]
    assert {one.data_type for one in weights} == {TensorProto.FLOAT16}


def test_int8_is_symmetric_and_near_on_other_pictures(monkeypatch, capsys, fetched, folders):
    assert run(monkeypatch, "int8", "nanodet", "--calibrate", folders[0], "--check", folders[1], "--name", "light") == 0
    assert "TensorRT:" not in capsys.readouterr().out
    path = fetched / "engines/light/nanodet.onnx"
    model = onnx.load(path)
    assert tool.lint(model) == []
    pairs = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    assert len(pairs) > 20
    assert path.stat().st_size < 0.3 * (fetched / "engines/nanodet/nanodet.onnx").stat().st_size


def test_what_is_too_far_is_not_kept(monkeypatch, capsys, fetched, folders):
    monkeypatch.setitem(tool.TOLERANCES, "fp16", tool.Tolerance(cosine=1.0))
    assert run(monkeypatch, "fp16", "nanodet", "--check", folders[1]) == 1
    assert "not kept: model: scores_8: cosine" in capsys.readouterr().err
    assert not list((fetched / "cards").iterdir())
    assert not (fetched / "engines/nanodet-fp16").exists()


@pytest.mark.usefixtures("fetched")
@pytest.mark.parametrize("arguments", [["fp16"], ["int8", "--check", "a"], ["int8", "--check", "a", "--calibrate", "a"]])
def test_nothing_is_checked_on_what_it_was_made_with(monkeypatch, capsys, arguments):
    assert run(monkeypatch, arguments[0], "nanodet", *arguments[1:]) == 2
    assert "not the same ones for both" in capsys.readouterr().err


def test_the_small_model_survives_both(tmp_path):
    """Numbers that are known: numpy's, within what the precision gives. Without VNNI the fast sums of int8 products overflow."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    batches = [inputs(4, 3, seed) for seed in range(8)]
    tool.to_float16(MODEL_FILE, tmp_path / "half.onnx")
    tool.to_int8(MODEL_FILE, tmp_path / "int8.onnx", batches)
    for name, far in (("half", 2e-3), ("int8", 0.05)):
        session = onnxruntime.InferenceSession(str(tmp_path / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
        found = session.run(["scores"], inputs(4, 3, 99))[0]
        wanted = expected(inputs(4, 3, 99))["scores"]
        assert 0 < np.abs(found - wanted).max() < far, name


def pair(zero, kind=np.int8, operator="QuantizeLinear"):
    scale, point = numpy_helper.from_array(np.float32(0.1), "scale"), numpy_helper.from_array(np.array(zero, kind), "zero")
    node = helper.make_node(operator, ["x", "scale", "zero"], ["y"], name="q")
    return onnx.ModelProto(graph=helper.make_graph([node], "g", [], [], [scale, point]))


def test_what_tensorrt_does_not_take_is_named():
    assert tool.lint(pair(0)) == []
    assert tool.lint(pair(3)) == ["q: QuantizeLinear with the zero point 3"]
    assert tool.lint(pair([0, -2])) != []
    assert tool.lint(pair(0, np.uint8)) == ["q: QuantizeLinear in UINT8 instead of INT8"]
    assert tool.lint(pair(0, np.int32, "DequantizeLinear")) == ["q: DequantizeLinear in INT32 instead of INT8"]
    missing = pair(0)
    del missing.graph.initializer[1]
    assert tool.lint(missing) == ["q: the zero point of QuantizeLinear is not in the file"]
    integer = onnx.ModelProto(graph=helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"], name="m")], "g", [], []))
    assert tool.lint(integer) == ["m: MatMulInteger is no Q/DQ pair"]


def test_the_classifier_in_the_int8_of_its_original_is_not_for_tensorrt(monkeypatch, capsys, home, weights_home, engines):
    assert engines.has("classify")
    shutil.copytree(weights_home / "engines/efficientnet-lite3", home / "engines/efficientnet-lite3")
    assert run(monkeypatch, "lint", "efficientnet-lite3") == 1
    out = capsys.readouterr().out
    assert "UINT8 instead of INT8" in out
    assert out.splitlines()[-1].startswith("and ")
