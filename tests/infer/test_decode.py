"""Results of the built-in engines for real pictures and sentences."""

from __future__ import annotations

import msgspec
import numpy as np
import onnx
import pytest

from edgemem.errors import EngineError
from edgemem.infer.decode_image import ImageClassifier
from edgemem.infer.decode_settings import ClassifierSettings
from edgemem.infer.engines import DecoderParts
from edgemem.infer.fetch import installed

# What people would call these photographs, among the labels of ImageNet and COCO.
LABELS = {
    "coffee": {"espresso", "cup", "coffee mug"},
    "chelsea": {"Egyptian cat", "tabby", "tiger cat"},
    "rocket": {"missile", "projectile"},
}
OBJECTS = {"coffee": "cup", "motorcycle_left": "motorcycle", "astronaut": "person"}


def test_photographs_get_their_labels(engines, photographs):
    classifier = engines.role("classify")
    names = list(LABELS)
    probabilities = classifier.classify([photographs[name] for name in names])
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-3)
    for name, row in zip(names, probabilities, strict=True):
        assert classifier.labels[row.argmax()] in LABELS[name]


def test_a_label_does_not_depend_on_the_other_pictures(engines, photographs):
    classifier = engines.role("classify")
    together, features = classifier.classify_features(list(photographs.values()))
    alone, feature = classifier.classify_features([photographs["rocket"]])
    row = list(photographs).index("rocket")
    assert np.abs(together[row] - alone[0]).max() < 1e-4
    assert float(features[row] @ feature[0]) > 0.9999
    assert classifier.classify([]).shape == (0, len(classifier.labels))


def test_features_tell_like_pictures_from_unlike_ones(engines, photographs):
    classifier = engines.role("classify")
    cat, rocket = photographs["chelsea"], photographs["rocket"]
    vectors = classifier.classify_features([cat, cat[10:, 10:], rocket])[1]
    assert vectors[0] @ vectors[1] > 0.8
    assert vectors[0] @ vectors[2] < vectors[0] @ vectors[1] - 0.2


def test_the_weights_of_labels_are_those_of_the_last_layer(engines):
    classifier = engines.role("classify")
    card = engines.cards["efficientnet-lite3"]
    files = installed(card, engines.home)
    stored = next(one for one in onnx.load(files["model"]).graph.initializer if one.name == "label_weights")
    weights = onnx.numpy_helper.to_array(stored).astype(np.float64)
    centred = weights - weights.mean(axis=0)
    wanted = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    assert np.allclose(classifier.label_weights, wanted, atol=1e-6)

    def made(name, model=card.models["model"]):
        parts = DecoderParts(msgspec.structs.replace(card, models={"model": model}), files, {"model": None}, {}, files["model"].parent)
        return ImageClassifier(ClassifierSettings(label_weights=name), parts)

    assert made("").label_weights is None
    with pytest.raises(EngineError, match="has no constant"):
        made("weights").label_weights  # noqa: B018
    narrow = {
        **card.models["model"].outputs,
        "features": msgspec.structs.replace(card.models["model"].outputs["features"], shape=("batch", 1024)),
    }
    with pytest.raises(EngineError, match=r"label_weights is not \[1000, 1024\]"):
        made("label_weights", msgspec.structs.replace(card.models["model"], outputs=narrow)).label_weights  # noqa: B018
    bare = {"probabilities": card.models["model"].outputs["probabilities"]}
    assert made("label_weights", msgspec.structs.replace(card.models["model"], outputs=bare)).label_weights is None


def test_the_classifier_gets_red_first_and_one_picture_at_a_time_where_the_model_takes_one(engines):
    card, given = engines.cards["efficientnet-lite3"], []
    files, model = installed(card, engines.home), card.models["model"]

    class Spy:
        def infer(self, arrays):
            (pictures,) = arrays.values()
            given.append(pictures)
            return {"probabilities": np.zeros((len(pictures), 1000), np.float32), "features": np.ones((len(pictures), 1280), np.float32)}

    red = np.zeros((30, 40, 3), np.uint8)
    red[..., 2] = 255  # pictures are blue, green, red
    ((name, shape),) = model.inputs.items()
    for first, sizes in (("batch", [3]), (1, [1, 1, 1])):
        inputs = {name: msgspec.structs.replace(shape, shape=(first, *shape.shape[1:]))}
        taken = msgspec.structs.replace(model, inputs=inputs, ranges=model.ranges if first == "batch" else {})
        parts = DecoderParts(msgspec.structs.replace(card, models={"model": taken}), files, {"model": Spy()}, {}, files["model"].parent)
        given.clear()
        ImageClassifier(ClassifierSettings(), parts).classify([red] * 3)
        assert [len(pictures) for pictures in given] == sizes
        assert given[0][0, 0].min() > given[0][0, 1:].max()


def test_objects_are_found_where_they_are(engines, photographs):
    detector = engines.role("detect")
    for name, label in OBJECTS.items():
        found = detector.detect(photographs[name])
        best = found[0]
        assert (best.name, best.kind) == (label, "object"), name
        assert [o.score for o in found] == sorted((o.score for o in found), reverse=True)
        assert all(0 <= v <= 1 for o in found for v in (o.box.x0, o.box.y0, o.box.x1, o.box.y1))
    x = photographs["motorcycle_left"]
    canvas = np.zeros((x.shape[0] * 2, x.shape[1] * 2, 3), np.uint8)
    canvas[x.shape[0] :, x.shape[1] :] = x  # the motorcycle, now at the bottom right
    box = next(o for o in detector.detect(canvas) if o.name == "motorcycle").box
    assert box.x0 > 0.45
    assert box.y0 > 0.45


@pytest.mark.parametrize("shape", [(1, 1, 3), (3, 2000, 3), (2000, 3, 3)])
def test_odd_pictures_are_no_trouble(engines, shape):
    picture = np.full(shape, 127, np.uint8)
    assert engines.role("classify").classify([picture]).shape[0] == 1
    assert isinstance(engines.role("detect").detect(picture), list)
    assert isinstance(engines.role("detect_face").detect_faces(picture), list)
    assert isinstance(engines.role("read_text").read(picture), list)


def test_what_is_no_picture_is_refused_in_one_line(engines):
    with pytest.raises(EngineError, match=r"uint8 \[height, width, 3\], got float32"):
        engines.role("classify").classify([np.zeros((4, 4, 3), np.float32)])


def test_sentences_of_like_meaning_are_close(engines):
    embedder = engines.role("embed_text")
    texts = ["where did I leave my coffee mug", "a mug of coffee", "a red car in the street", ""]
    vectors = embedder.embed_text(texts)
    assert vectors.shape == (4, embedder.space.dim)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert vectors[0] @ vectors[1] > 2 * (vectors[0] @ vectors[2])


def test_a_sentence_has_one_vector_whatever_its_company(engines):
    embedder = engines.role("embed_text")
    alone = embedder.embed_text(["a bicycle against a wall"])[0]
    company = embedder.embed_text(["long words " * 300, "a bicycle leans", "a bicycle against a wall", "a bicycle against a wall"])
    assert np.array_equal(company[2], alone)
    assert np.array_equal(company[3], alone)


def test_a_face_is_known_again(engines, photographs):
    finder, embedder = engines.role("detect_face"), engines.role("embed_face")
    picture = photographs["astronaut"]
    mirrored = np.ascontiguousarray(picture[:, ::-1])
    (face,), (other,) = finder.detect_faces(picture), finder.detect_faces(mirrored)
    assert 0.3 < face.box.x0 < face.box.x1 < 0.6
    assert all(face.box.x0 < x < face.box.x1 and face.box.y0 < y < face.box.y1 for x, y in face.landmarks)
    similarity = float(embedder.embed_face(picture, face) @ embedder.embed_face(mirrored, other))
    assert similarity > embedder.space.calibration["same_person"]
    assert finder.detect_faces(photographs["coffee"]) == []


def test_shrinking_in_halves_keeps_what_a_picture_shows(photographs):
    from edgemem.infer.decode_image import resize

    picture = photographs["astronaut"][:511, :509]  # odd sides
    stripes = np.zeros((1080, 1920, 3), np.uint8)
    stripes[:, ::2] = 255
    assert resize(stripes, 280, 280).std() < 1  # no aliasing: fine stripes turn grey
    small = resize(picture, 60, 70)
    assert small.shape == (70, 60, 3)
    exact = picture.astype(float)
    edges_y, edges_x = np.linspace(0, 511, 71).astype(int), np.linspace(0, 509, 61).astype(int)
    means = np.add.reduceat(np.add.reduceat(exact, edges_y[:-1], axis=0), edges_x[:-1], axis=1)
    means /= (np.diff(edges_y)[:, None] * np.diff(edges_x)[None])[..., None]
    assert np.abs(small - means).mean() < 8  # levels, over blocks whose borders lie up to a pixel elsewhere
