"""Each conversion against the original's own output, and each gives the same bytes every time."""

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
    return onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])


def cosine(a, b):
    return float(a.ravel() @ b.ravel() / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_classifier_says_what_the_original_says(cards, originals, photographs, tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    card, members = cards["efficientnet-lite3"], originals("efficientnet-lite3")
    session = convert(card, members, tmp_path / "a.onnx")
    original = Interpreter(str(members["model"]), num_threads=2)
    original.allocate_tensors()
    entry, result = original.get_input_details()[0]["index"], original.get_output_details()[0]["index"]
    for name, picture in photographs.items():
        pixels = np.ascontiguousarray(cv2.resize(picture, (280, 280), interpolation=cv2.INTER_AREA)[:, :, ::-1])
        original.set_tensor(entry, pixels[None])
        original.invoke()
        expected = original.get_tensor(result)[0] / np.float32(256)
        (got,) = session.run(["probabilities"], {"images": pixels.transpose(2, 0, 1)[None].astype(np.float32)})
        assert got[0].argmax() == expected.argmax(), name
        assert cosine(got[0], expected) > 0.97, name  # the original also rounds its activations to 8 bits
    convert(card, members, tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


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
