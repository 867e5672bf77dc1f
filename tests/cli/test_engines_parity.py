"""`edgemem engines check --runtime` and `selftest`, with real models and photographs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

from edgemem.board_settings import Hardware
from edgemem.cli.main import main
from edgemem.device.sysfs import SysfsBoard
from edgemem.infer.card import WeightSource
from edgemem.infer.fetch import extract, fetch_archive, sha256_of

pytest.importorskip("openvino", reason="OpenVINO is not installed", exc_type=ImportError)

PHOTOGRAPHS = WeightSource(
    kind="pypi",
    package="scikit-image",
    version="0.25.2",
    members={name: f"skimage/data/{name}.png" for name in ("astronaut", "coffee")},
)


@pytest.fixture(scope="module")
def photographs(weights_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("photographs")
    extract(PHOTOGRAPHS, fetch_archive(PHOTOGRAPHS, weights_home / "archives"), folder)
    return folder


@pytest.fixture
def plugins(tmp_path):
    """OpenVINO, also where its entry point is not installed."""
    from importlib.metadata import entry_points

    folder = tmp_path / "plugins"
    folder.mkdir()
    if "openvino" not in {one.name for one in entry_points(group="edgemem")}:
        (folder / "ov.py").write_text("from edgemem_openvino import register_runtimes\n")
    return folder


@pytest.fixture
def fetched(home, weights_home, engines):
    """A data directory with two real models."""
    assert engines.has("detect")
    assert engines.has("embed_face")
    for name in ("nanodet", "centerface", "faceres"):
        shutil.copytree(weights_home / "engines" / name, home / "engines" / name)
    return home


def run(capsys, plugins, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["engines", *map(str, arguments), "--plugins-dir", str(plugins), "--set", "engines.threads=2"])
    out, err = capsys.readouterr()
    return stop.value.code, out, err


@pytest.mark.usefixtures("fetched")
def test_two_runtimes_agree_on_real_pictures(capsys, plugins, photographs):
    code, out, err = run(capsys, plugins, "check", "nanodet", "--runtime", "openvino", "--sample", photographs, "--json")
    assert code == 0, err
    (found,) = json.loads(out)["compared"]
    assert (found["card"], found["variant"], found["runtime"], found["against"], found["problem"]) == (
        "nanodet",
        "nanodet",
        "openvino",
        "onnx",
        "",
    )
    (model,) = found["models"]
    assert model["inputs"] == 2
    assert {one["output"] for one in model["outputs"]} >= {"scores_8", "distances_32"}
    assert all(one["cosine"] > 0.9999 and one["largest_value"] > 0.1 for one in model["outputs"])


def test_a_model_whose_weights_differ_is_found(capsys, plugins, photographs, fetched):
    """A variant with the same tensors: every weight of one convolution is a fifth larger."""
    model = onnx.load(fetched / "engines/nanodet/nanodet.onnx")
    largest = max(model.graph.initializer, key=lambda one: len(one.raw_data))
    largest.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(largest) * 1.2, largest.name))
    cards = fetched / "cards"
    cards.mkdir()
    onnx.save(model, cards / "other.onnx")
    from edgemem.infer.card import cards_dir

    text = (cards_dir() / "nanodet.toml").read_text()
    models = text[text.index("[files]") :]
    own = f'[[source]]\nkind = "file"\npath = "other.onnx"\nsha256 = "{sha256_of(cards / "other.onnx")}"\nmembers = {{ model = "" }}\n'
    (cards / "other.toml").write_text(text[: text.index("[[source]]")].replace('"nanodet"', '"other"', 1) + own + models)
    assert run(capsys, plugins, "fetch", "other")[0] == 0
    code, out, err = run(capsys, plugins, "check", "nanodet", "--variant", "other", "--sample", photographs)
    assert code == 1
    assert "nanodet: model: " in err
    assert "wanted 0.999" in err
    assert "other" in out


@pytest.mark.usefixtures("fetched")
def test_what_cannot_be_compared_says_why(capsys, plugins, photographs):
    code, _, err = run(capsys, plugins, "check", "faceres", "--runtime", "openvinno", "--sample", photographs)
    assert (code, 'did you mean "openvino"?' in err) == (1, True)
    code, _, err = run(capsys, plugins, "check", "--variant", "faceres", "--sample", photographs)
    assert (code, "--variant needs the name of one engine" in err) == (2, True)
    code, _, err = run(capsys, plugins, "check", "nanodet", "--runtime", "openvino")
    assert (code, "give real inputs with --sample" in err) == (2, True)


def test_the_self_test_writes_a_report(capsys, plugins, photographs, tmp_path, fetched):
    report = tmp_path / "report.json"
    code, out, err = run(capsys, plugins, "selftest", "faceres", "--runtime", "openvino", "--sample", photographs, "--out", report)
    assert code == 0, err
    assert "contract: 16 of 16 checks hold" in out
    found = json.loads(report.read_bytes())
    assert found["passed"] is True
    assert found["about"].startswith("OpenVINO")
    assert found["against_about"].startswith("ONNX Runtime")
    assert len(found["contract"]) == 16
    assert [(one["card"], one["runtime"], one["problem"]) for one in found["builds"]] == [("faceres", "openvino", "")]
    (model,) = found["engines"][0]["models"]
    assert (model["tested"]["runs"], model["reference"]["runs"], model["inputs"]) == (50, 50, 1)
    assert set(found["machine"]) == {"board", "system", "processor_count", "python", "numpy", "l4t", "power_mode"}
    assert not (fetched / "selftest-openvino.json").exists()


def test_a_self_test_that_fails_says_so_in_its_report(capsys, plugins, photographs, fetched):
    code, _, err = run(capsys, plugins, "selftest", "resemblyzer", "--runtime", "openvino", "--sample", photographs)
    assert code == 1
    assert "resemblyzer is not fetched; run: edgemem engines fetch resemblyzer" in err
    found = json.loads((fetched / "selftest-openvino.json").read_bytes())
    assert found["passed"] is False


@pytest.mark.usefixtures("fetched")
def test_a_runtime_that_cannot_be_used_is_an_error_with_its_reason(capsys, plugins, photographs):
    code, _, err = run(capsys, plugins, "selftest", "nanodet", "--runtime", "nothing", "--sample", photographs)
    assert code == 1
    assert "it is not installed" in err


def test_the_machine_is_described_from_its_files(tmp_path):
    from edgemem.serve.selftest import describe_machine

    (tmp_path / "proc/device-tree").mkdir(parents=True)
    (tmp_path / "proc/device-tree/compatible").write_bytes(b"nvidia,p3768-0000+p3767-0005-super\0nvidia,tegra234\0")
    (tmp_path / "proc/device-tree/model").write_bytes(b"NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super\0")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nv_tegra_release").write_text("# R36 (release), REVISION: 4.3, GCID: 38968081\n# second line\n")
    machine = describe_machine(tmp_path, "MAXN_SUPER")
    assert machine.board == "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super"
    assert machine.l4t == "# R36 (release), REVISION: 4.3, GCID: 38968081"
    assert machine.power_mode == "MAXN_SUPER"
    nothing = describe_machine(tmp_path / "none", "")
    assert (nothing.board, nothing.l4t, nothing.power_mode) == ("", "", "")


def test_the_report_names_the_power_mode_of_the_board(capsys, plugins, photographs, fetched):
    board = Path(__file__).parents[1] / "device/boards/jetson-orin-nano-8gb"
    run(capsys, plugins, "selftest", "resemblyzer", "--runtime", "openvino", "--sample", photographs, "--set", f"hardware.root={board}")
    told = json.loads((fetched / "selftest-openvino.json").read_bytes())["machine"]
    assert told["power_mode"] == SysfsBoard("", Hardware(root=str(board))).power_mode() != ""
    assert "Orin Nano" in told["board"]


def test_engines_for_which_the_samples_have_nothing_are_named_and_fail_nothing_unless_they_are_all(
    capsys, plugins, photographs, fetched, weights_home
):
    shutil.copytree(weights_home / "engines" / "silero-vad", fetched / "engines" / "silero-vad")
    why = "silero-vad: not compared: there is no sound in the samples; give a recording of speech with --sample"
    for command in ("check", "selftest"):
        code, _, err = run(capsys, plugins, command, "faceres", "silero-vad", "--runtime", "openvino", "--sample", photographs)
        assert (code, why in err) == (0, True)
        code, _, err = run(capsys, plugins, command, "silero-vad", "--runtime", "openvino", "--sample", photographs)
        assert (code, why in err) == (1, True)
