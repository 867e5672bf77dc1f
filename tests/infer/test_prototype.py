"""Directions of things that the classifier has no label for."""

from __future__ import annotations

import numpy as np
import pytest

from edgemem.infer.bridge import LabelBridge
from edgemem.infer.prototype import coefficients, kernel, prototype


def test_the_kernel_counts_near_meanings_most():
    row = kernel(np.array([0.5, -0.5, 1.0]), np.array([0.2, 0.0, 1.0]), np.array([0.1, -0.3, 1.0]))
    assert row == pytest.approx([0.125 + 0.008 + 0.01, 0.0, 3.0])


def test_a_direction_is_predicted_as_worked_out_by_hand():
    """Two labels that are alike by 1 of 3: (K + 1)^-1 is ((4, -1), (-1, 4)) / 15."""
    dual = coefficients(np.array([[3.0, 1.0], [1.0, 3.0]]), np.eye(2, 3))
    assert dual == pytest.approx(np.array([[4.0, -1.0, 0.0], [-1.0, 4.0, 0.0]]) / 15)
    towards_one = prototype(np.array([2.0, 0.0]), dual)
    assert towards_one == pytest.approx(np.array([4.0, -1.0, 0.0]) / np.sqrt(17))
    assert prototype(np.array([1.0, 1.0]), dual) == pytest.approx(np.array([1.0, 1.0, 0.0]) / np.sqrt(2))
    assert prototype(np.zeros(2), dual) == pytest.approx(np.zeros(3))
    uneven = coefficients(np.array([[3.0, 2.0], [0.0, 3.0]]), np.eye(2, 3))
    assert uneven == pytest.approx(dual), "how alike two are does not depend on which one is asked about"


@pytest.fixture(scope="module")
def bridge(engines, tmp_path_factory: pytest.TempPathFactory) -> LabelBridge:
    return LabelBridge(engines.role("classify"), engines.role("detect"), engines.role("embed_text"), tmp_path_factory.mktemp("cache"))


def test_crops_of_a_thing_are_nearest_to_its_prototype_with_a_label_or_without(bridge: LabelBridge, photographs):
    """No label is a scooter, a pet, a hot drink or a spaceship."""
    crops = {name: np.stack([crop.vector for crop in bridge.crops(image)]) for name, image in photographs.items()}
    usual = np.concatenate(list(crops.values())).mean(axis=0)
    asked = {"espresso": "coffee", "hot drink": "coffee", "kitten": "chelsea", "motor scooter": "motorcycle_left", "spaceship": "rocket"}
    for phrase, name in asked.items():
        found = bridge.match_labels(phrase).prototype
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-5)
        near = {one: float(np.sort((rows - usual) @ found)[-4:].mean()) for one, rows in crops.items()}
        assert max(near, key=near.get) == name, phrase


def test_prototypes_are_computed_once_and_kept(engines, tmp_path):
    def made():
        return LabelBridge(engines.role("classify"), None, engines.role("embed_text"), tmp_path).match_labels("pear").prototype

    first = made()
    (kept,) = tmp_path.glob("prototypes-*.npy")
    np.save(kept, np.roll(np.load(kept), 1, axis=0))
    assert not np.allclose(made(), first), "read from the file"
    kept.unlink()
    assert np.allclose(made(), first)


def test_without_directions_there_is_no_prototype(engines, tmp_path):
    class Silent:
        def __init__(self, classifier):
            self.labels, self.features, self.asked = classifier.labels, classifier.features, 0

        @property
        def label_weights(self):
            self.asked += 1

    silent = Silent(engines.role("classify"))
    bridge = LabelBridge(silent, None, engines.role("embed_text"), tmp_path)
    assert bridge.match_labels("pear").prototype is None
    assert bridge.match_labels("fig").prototype is None
    assert silent.asked == 1
    silent.features = None
    assert LabelBridge(silent, None, engines.role("embed_text"), tmp_path).match_labels("fig").prototype is None
    assert silent.asked == 1
