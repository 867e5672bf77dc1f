"""Each conversion is compared with the output of the original, and always gives the same bytes."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path

import cv2
import msgspec
import numpy as np
import onnx
import onnxruntime
import pytest
from edgemem_convert import register_converters

from edgemem.errors import EngineError

_spec = importlib.util.spec_from_file_location("edgemem_convert_reference", Path(__file__).with_name("reference.py"))
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

CONVERTERS = {component.name: component for component in register_converters()}


def convert(card, members, out, **changes):
    component = CONVERTERS[card.convert.name]
    settings = msgspec.convert({**card.convert.parameters, **changes}, component.settings)
    component.factory(settings, None).convert(members, out)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.x64quantprecision", "1")  # as edgemem_onnx sets it
    return onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])


def cosine(a, b):
    return float(a.ravel() @ b.ravel() / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.fixture(scope="module")
def squares(photographs):
    """uint8 [n, 280, 280, 3], RGB: the photographs and their quarters."""
    crops = [crop for p in photographs.values() for crop in (p, *(q for half in np.array_split(p, 2) for q in np.array_split(half, 2, 1)))]
    return np.stack([cv2.resize(crop, (280, 280), interpolation=cv2.INTER_AREA)[:, :, ::-1] for crop in crops])


@pytest.fixture(scope="module")
def expected(originals, squares):
    """The output of the original classifier for them, in steps of 1/256."""
    from ai_edge_litert.interpreter import Interpreter

    original = Interpreter(str(originals("efficientnet-lite3")["model"]), num_threads=2)
    original.allocate_tensors()
    entry, result = original.get_input_details()[0]["index"], original.get_output_details()[0]["index"]
    rows = []
    for pixels in squares:
        original.set_tensor(entry, np.ascontiguousarray(pixels[None]))
        original.invoke()
        rows.append(original.get_tensor(result)[0])
    return np.stack(rows)


def test_the_quantised_classifier_says_what_the_original_says(cards, originals, squares, expected, tmp_path):
    card, members = cards["efficientnet-lite3"], originals("efficientnet-lite3")
    session = convert(card, members, tmp_path / "a.onnx")
    images = squares.transpose(0, 3, 1, 2).astype(np.float32)
    got, features = session.run(["probabilities", "features"], {"images": images})
    same = [(np.rint(row * 256) == want).all() for row, want in zip(got, expected, strict=True)]
    assert np.mean(same) >= 0.6  # every one of a thousand outputs; the rest differ by a rounding on the way
    for row, want in zip(got, expected, strict=True):
        assert int(want.max()) - int(want[row.argmax()]) <= 3  # in 256ths: the first label, or one as likely
        assert cosine(row, want.astype(np.float32)) > 0.99
    alone = session.run(["probabilities", "features"], {"images": images[4:5]})
    assert np.array_equal(alone[0][0], got[4])  # integers do not care for company
    assert np.array_equal(alone[1][0], features[4])
    convert(card, members, tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_the_quantised_classifier_runs_in_integers(cards, originals, tmp_path):
    convert(cards["efficientnet-lite3"], originals("efficientnet-lite3"), tmp_path / "a.onnx")
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(tmp_path / "a.onnx"), options, providers=["CPUExecutionProvider"])
    kinds = [node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node]
    assert kinds.count("QLinearConv") == 73
    assert not {"Conv", "FusedConv", "Add", "Clip", "Gemm", "MatMul", "GlobalAveragePool"} & set(kinds)


def test_the_classifier_in_float_agrees_with_the_original(cards, originals, squares, expected, tmp_path):
    session = convert(cards["efficientnet-lite3"], originals("efficientnet-lite3"), tmp_path / "a.onnx", quantised=False)
    (got,) = session.run(["probabilities"], {"images": squares.transpose(0, 3, 1, 2).astype(np.float32)})
    agreement = [cosine(row, want.astype(np.float32)) for row, want in zip(got, expected, strict=True)]
    assert np.median(agreement) > 0.99
    assert min(agreement) > 0.9  # the original also rounds its activations to 8 bits


@pytest.mark.parametrize(("name", "layout"), [("nanodet", "NCHW"), ("faceres", "NHWC")])
def test_tfjs_graphs_compute_what_the_original_graph_defines(cards, originals, photographs, tmp_path, name, layout):
    card, members = cards[name], originals(name)
    session = convert(card, members, tmp_path / "a.onnx")
    entry = session.get_inputs()[0]
    side = entry.shape[2]
    pixels = cv2.resize(photographs["astronaut"], (side, side)).astype(np.float32)
    pixels = (pixels - 110) / 58 if layout == "NCHW" else pixels
    pixels = (pixels.transpose(2, 0, 1) if layout == "NCHW" else pixels)[None]
    renamed = card.convert.parameters["outputs"]
    expected = reference.run_tfjs(members["graph"], members["weights"], {entry.name: pixels}, list(renamed))
    got = session.run(list(renamed.values()), {entry.name: pixels})
    for output, want, value in zip(renamed.values(), expected, got, strict=True):
        assert value.shape == want.shape, output
        assert np.abs(value - want).max() < 1e-3 * np.abs(want).max(), output
    convert(card, members, tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_the_sentence_encoder_computes_what_bert_defines(cards, originals, tmp_path):
    from edgemem_convert.bert import agreement, quantise, read_safetensors
    from tokenizers import Tokenizer

    members = originals("minilm-int8")
    session = convert(cards["minilm-int8"], members, tmp_path / "full.onnx", int8=False)
    tokenizer = Tokenizer.from_file(str(members["tokenizer"]))
    tokenizer.no_padding()
    weights = read_safetensors(members["model"].read_bytes())
    texts = ["where did I leave my coffee mug", "a coffee mug on a desk", "a parcel at the door", "a cat sleeps", "parked cars"]
    expected = np.stack([reference.run_bert(weights, np.array(tokenizer.encode(text).ids)) for text in texts])
    ids = [tokenizer.encode(text).ids for text in texts]
    width = max(map(len, ids))
    feeds = {
        "input_ids": np.array([row + [0] * (width - len(row)) for row in ids], np.int64),
        "attention_mask": np.array([[1] * len(row) + [0] * (width - len(row)) for row in ids], np.int64),
    }
    (got,) = session.run(["embedding"], feeds)
    assert np.abs(got - expected).max() < 1e-4  # padding changes nothing either
    similar = got @ got[0]
    assert similar[1] > 0.4
    assert similar[1] > 2 * similar[2:].max()
    quantise(tmp_path / "full.onnx", tmp_path / "int8.onnx")
    assert agreement(tmp_path / "full.onnx", tmp_path / "int8.onnx", members["tokenizer"]) >= 0.98


def test_the_face_detector_takes_any_size_and_computes_the_same(cards, originals, tmp_path):
    members = originals("centerface")
    session = convert(cards["centerface"], members, tmp_path / "a.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    original = onnxruntime.InferenceSession(str(members["model"]), options, providers=["CPUExecutionProvider"])
    batch = np.random.default_rng(0).uniform(0, 255, (10, 3, 32, 32)).astype(np.float32)
    expected = original.run(["537", "538", "539", "540"], {"input.1": batch})
    got = session.run(["heatmap", "scale", "offset", "landmarks"], {"image": batch[3:4]})
    for value, want in zip(got, expected, strict=True):
        assert np.abs(value[0] - want[3]).max() < 1e-3
    wide = session.run(["heatmap"], {"image": np.zeros((1, 3, 96, 160), np.float32)})[0]
    assert wide.shape == (1, 1, 24, 40)
    model = onnx.load(tmp_path / "a.onnx")
    assert [value.name for value in model.graph.input] == ["image"]


def test_repair_names_a_tensor_that_is_not_there(cards, originals, tmp_path):
    with pytest.raises(EngineError, match=r"no tensor 'nowhere'.*convert.shapes"):
        convert(cards["centerface"], originals("centerface"), tmp_path / "a.onnx", shapes={"nowhere": [1]})


def test_an_operator_that_is_not_known_is_named(tmp_path):
    graph = {
        "weightsManifest": [],
        "signature": {"outputs": {}},
        "modelTopology": {"node": [{"name": "a", "op": "Fft", "input": []}]},
    }
    members = {"graph": tmp_path / "g.json", "weights": tmp_path / "w.bin"}
    members["graph"].write_bytes(msgspec.json.encode(graph))
    members["weights"].write_bytes(b"")
    component = CONVERTERS["tfjs"]
    with pytest.raises(EngineError, match="operator Fft"):
        component.factory(component.settings(outputs={}), None).convert(members, tmp_path / "out.onnx")


def test_safetensors_are_read_by_name_and_type():
    from edgemem_convert.bert import read_safetensors

    header = msgspec.json.encode({"bert.a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}, "__metadata__": {}})
    data = struct.pack("<Q", len(header)) + header + np.array([1.5, -2], "<f2").tobytes()
    assert read_safetensors(data)["a"].tolist() == [1.5, -2.0]
