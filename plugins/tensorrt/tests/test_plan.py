"""Plans on disk: which one is used, which one is refused, and what is said."""

from __future__ import annotations

import json
import shutil

import msgspec
import pytest
from edgemem_tensorrt import TensorRTSettings
from edgemem_tensorrt.board import Seal, l4t_release, serial_number
from edgemem_tensorrt.plan import Manifest, PlanKey, PlanStore, Sealed, settings_text, shapes_text
from edgemem_tensorrt.request import BuildLine, BuildRequest

from edgemem.extend import EngineError, Model, SizeRange, Tensor

KEY = PlanKey(
    onnx_sha256="a" * 64, TensorRT="10.3.0", CUDA="12.6/12.6", GPU="Orin 8.7", L4T="36.4.3", settings="workspace_mib=1024", shapes="[]"
)


def board(root, serial="1421221005931"):
    (root / "proc/device-tree").mkdir(parents=True)
    (root / "proc/device-tree/serial-number").write_text(f"{serial}\0")
    return root


@pytest.fixture
def store(tmp_path):
    return PlanStore(tmp_path / "plans", board(tmp_path / "board"))


def test_a_plan_is_given_out_as_it_was_built(store):
    assert store.problem("nanodet", "model", KEY) == "it has no plan for this device yet"
    store.write("nanodet", "model", KEY, b"plan", 61.5)
    assert store.problem("nanodet", "model", KEY) == ""
    assert store.read("nanodet", "model", KEY) == b"plan"
    assert json.loads(store.place("nanodet", "model").with_suffix(".json").read_bytes())["manifest"]["built_s"] == 61.5


def test_without_a_plan_the_command_is_named(store):
    with pytest.raises(EngineError, match="no plan for this device yet; run: edgemem engines build nanodet"):
        store.read("nanodet", "model", KEY)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"onnx_sha256": "b" * 64}, "its plan is for another model file"),
        ({"TensorRT": "10.16.1"}, "its plan is for TensorRT 10.3.0, here is 10.16.1"),
        ({"CUDA": "13.2/13.2"}, "its plan is for CUDA 12.6/12.6, here is 13.2/13.2"),
        ({"GPU": "Thor 11.0"}, "its plan is for GPU Orin 8.7, here is Thor 11.0"),
        ({"L4T": ""}, "its plan is for L4T 36.4.3, here is none"),
        ({"settings": "workspace_mib=512"}, "its plan is for other settings"),
        ({"shapes": "[1]"}, "its plan is for other tensors or sizes of the card"),
        ({"builder": 2}, "its plan is for another version of edgemem"),
        ({"TensorRT": "11.4.0", "L4T": "39.2.1"}, "its plan is for TensorRT 10.3.0, here is 11.4.0, L4T 36.4.3, here is 39.2.1"),
    ],
)
def test_a_plan_for_anything_else_is_not_used(store, changed, said):
    store.write("nanodet", "model", KEY, b"plan", 1.0)
    wanted = msgspec.structs.replace(KEY, **changed)
    assert store.problem("nanodet", "model", wanted) == said
    with pytest.raises(EngineError, match="run: edgemem engines build nanodet"):
        store.read("nanodet", "model", wanted)
    store.write("nanodet", "model", wanted, b"new", 1.0)
    assert store.read("nanodet", "model", wanted) == b"new"


def test_every_field_of_a_key_counts():
    """A field that is added to the key must be compared too."""
    for name in PlanKey.__struct_fields__:
        other = msgspec.structs.replace(KEY, **{name: 99 if name == "builder" else "else"})
        assert KEY.differs(other), name
    assert KEY.differs(KEY) == ""


def test_a_plan_of_another_board_is_refused_even_with_its_secret(store, tmp_path):
    store.write("nanodet", "model", KEY, b"plan", 1.0)
    other = PlanStore(store.folder, board(tmp_path / "other", serial="999"))
    with pytest.raises(EngineError, match="was not built by this device and is refused"):
        other.read("nanodet", "model", KEY)


def test_a_plan_from_elsewhere_is_refused(store, tmp_path):
    elsewhere = PlanStore(tmp_path / "elsewhere", tmp_path / "board")
    elsewhere.write("nanodet", "model", KEY, b"other", 1.0)
    shutil.copytree(elsewhere.folder / "nanodet", store.folder / "nanodet")
    assert store.problem("nanodet", "model", KEY) == "its plan was not built by this device and is refused"
    store.write("minilm", "model", KEY, b"plan", 1.0)  # now this device has a secret, another one
    assert store.problem("nanodet", "model", KEY) == "its plan was not built by this device and is refused"


@pytest.mark.parametrize("damage", [b"", b"nalp", b"plan and more"])
def test_a_damaged_plan_is_refused(store, damage):
    store.write("nanodet", "model", KEY, b"plan", 1.0)
    store.place("nanodet", "model").write_bytes(damage)
    with pytest.raises(EngineError, match="its plan is damaged; run: edgemem engines build nanodet"):
        store.read("nanodet", "model", KEY)
    assert store.problem("nanodet", "model", KEY) == "its plan is damaged", "so that it is built again"


def test_a_plan_that_is_gone_is_said(store):
    store.write("nanodet", "model", KEY, b"plan", 1.0)
    store.place("nanodet", "model").unlink()
    with pytest.raises(EngineError, match="damaged"):
        store.read("nanodet", "model", KEY)


def test_a_plan_that_was_exchanged_together_with_its_manifest_is_refused(store):
    """Whoever can write into the folder cannot make the device run a plan of his."""
    store.write("nanodet", "model", KEY, b"plan", 1.0)
    manifest = store.place("nanodet", "model").with_suffix(".json")
    manifest.write_bytes(manifest.read_bytes().replace(b'"size_bytes":4', b'"size_bytes":5'))
    assert "not built by this device" in store.problem("nanodet", "model", KEY)
    manifest.write_bytes(b"{}")
    assert store.problem("nanodet", "model", KEY) == "what is written beside its plan cannot be read"


def test_what_is_not_known_of_a_manifest_is_refused(store):
    """A manifest of a later version may mean something else."""
    store.write("nanodet", "model", KEY, b"plan", 1.0)
    manifest = store.place("nanodet", "model").with_suffix(".json")
    good = json.loads(manifest.read_bytes())
    for changed in (good | {"more": 1}, good | {"manifest": good["manifest"] | {"more": 1}}):
        manifest.write_text(json.dumps(changed))
        assert store.problem("nanodet", "model", KEY) == "what is written beside its plan cannot be read"


@pytest.mark.parametrize("kind", [PlanKey, Manifest, Sealed, BuildRequest, BuildLine, TensorRTSettings])
def test_records_are_frozen_and_strict(kind):
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.forbid_unknown_fields


def test_models_of_a_card_have_plans_of_their_own(store):
    store.write("ppocr", "detection", KEY, b"one", 1.0)
    store.write("ppocr", "recognition", KEY, b"two", 1.0)
    assert (store.read("ppocr", "detection", KEY), store.read("ppocr", "recognition", KEY)) == (b"one", b"two")


@pytest.mark.parametrize(("field", "shared"), [("TensorRT", False), ("CUDA", False), ("GPU", False), ("L4T", False), ("onnx_sha256", True)])
def test_timings_are_shared_by_models_but_not_by_versions_and_devices(store, field, shared):
    other = msgspec.structs.replace(KEY, **{field: "else"})
    assert (store.timing_cache(KEY) == store.timing_cache(other)) is shared
    assert store.timing_cache(KEY).parent == store.folder


@pytest.mark.parametrize(
    ("setting", "value", "counts"),
    [
        ("workspace_mib", 512, True),
        ("optimisation_level", 5, True),
        ("tf32", False, True),
        ("transfer", "copied", False),
        ("memory", "pycuda", False),
        ("build", "in_background", False),
        ("build_timeout_s", 60, False),
    ],
)
def test_settings_that_change_a_plan_are_part_of_its_key(setting, value, counts):
    changed = TensorRTSettings(**{setting: value})
    assert (settings_text(changed) != settings_text(TensorRTSettings())) is counts


def test_the_sizes_of_a_card_are_part_of_the_key():
    model = Model(
        file="model", inputs={"x": Tensor(shape=["n", 4])}, outputs={"y": Tensor(shape=["n", 4])}, ranges={"n": SizeRange(1, 1, 8)}
    )
    wider = msgspec.structs.replace(model, ranges={"n": SizeRange(1, 1, 16)})
    half = msgspec.structs.replace(model, inputs={"x": Tensor(dtype="float16", shape=["n", 4])})
    assert len({shapes_text(one) for one in (model, wider, half)}) == 3


def test_the_release_and_the_serial_number_are_read(tmp_path):
    assert (l4t_release(tmp_path), serial_number(tmp_path)) == ("", "")
    (tmp_path / "etc").mkdir()
    text = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025\n"
    (tmp_path / "etc/nv_tegra_release").write_text(text)
    (tmp_path / "etc/machine-id").write_text("0123456789abcdef\n")
    assert (l4t_release(tmp_path), serial_number(tmp_path)) == ("36.4.3", "0123456789abcdef")
    board(tmp_path)
    assert serial_number(tmp_path) == "1421221005931"


def test_a_seal_is_private_and_lasts(tmp_path):
    mark = Seal(tmp_path / "plans", tmp_path).mark(b"data")
    assert (tmp_path / "plans/device.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "plans/device.key").stat().st_size == 32
    again = Seal(tmp_path / "plans", tmp_path)
    assert again.holds(b"data", mark)
    assert not again.holds(b"date", mark)
    assert not again.holds(b"data", mark[:-1] + ("0" if mark[-1] != "0" else "1"))
    assert not Seal(tmp_path / "none", tmp_path).holds(b"data", mark)
    assert not (tmp_path / "none").exists()
