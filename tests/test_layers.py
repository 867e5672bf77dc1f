"""Settings are layers: default, board, deployment, environment, --set. Each value says where it comes from, each error too."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from edgemem.board_settings import Budget, GovernorSettings, Hardware
from edgemem.boards import board_files, device_tree, find, firmware_dir
from edgemem.config import load, settings_of
from edgemem.errors import UsageError
from edgemem.layers import merge, read_layers
from edgemem.secret import reveal

TREES = Path(__file__).parent / "device" / "boards"
BOARDS = {
    "pc", "jetson-orin-nano-8gb", "jetson-orin-nx-16gb", "jetson-agx-orin", "jetson-thor", "raspberry-pi-5", "smart-glasses-companion",
}  # fmt: skip


def machine(tmp_path: Path, *texts: str, model: str = "") -> Path:
    """A machine with this device tree."""
    folder = tmp_path / "machine" / "proc" / "device-tree"
    folder.mkdir(parents=True)
    (folder / "compatible").write_bytes(b"".join(text.encode() + b"\0" for text in texts))
    (folder / "model").write_bytes(model.encode() + b"\0")
    return tmp_path / "machine"


def test_there_is_a_file_and_a_tree_for_each_board() -> None:
    assert set(board_files()) == BOARDS
    assert {path.name for path in TREES.iterdir() if path.is_dir()} == BOARDS


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_each_tree_is_known_as_its_board(name: str) -> None:
    layers = read_layers(None, [f"hardware.root={TREES / name}"], {})
    assert layers.board.name == name
    assert layers.board.detected
    assert not layers.board.unknown
    settings = settings_of(layers)
    assert settings.hardware.name
    assert settings.hardware.plugins
    assert layers.origin("hardware.name") == f"board {name}"


def test_the_most_specific_text_of_the_device_tree_decides(tmp_path: Path) -> None:
    root = machine(tmp_path, "acme,smart-glasses-companion", "nvidia,p3767-0003", model="Raspberry Pi 5, raspberrypi,5-model-b")
    assert device_tree(root)[:2] == ("acme,smart-glasses-companion", "nvidia,p3767-0003")
    assert find("auto", root).name == "smart-glasses-companion"
    assert find("auto", root).known_by == "acme,smart-glasses-companion"


def test_the_model_decides_where_compatible_does_not_and_case_is_equal(tmp_path: Path) -> None:
    root = machine(tmp_path, "vendor,carrier", model="Carrier with NVIDIA P3701-0005")
    assert find("auto", root).name == "jetson-agx-orin"


def test_an_unknown_device_tree_gets_the_settings_of_a_pc_and_is_said(tmp_path: Path) -> None:
    found = find("auto", machine(tmp_path, "vendor,board-x", model="Board X"))
    assert (found.name, found.unknown, found.device_tree) == ("pc", True, ("vendor,board-x", "Board X"))
    assert found.described("PC").startswith("unknown (vendor,board-x, Board X): uses the file pc")


def test_long_texts_are_read_up_to_a_page(tmp_path: Path) -> None:
    assert find("auto", machine(tmp_path / "a", "v" * 4000, "nvidia,p3834-0008")).name == "jetson-thor"
    assert find("auto", machine(tmp_path / "b", "v" * 4080, "nvidia,p3834-0008")).name == "pc"


def test_the_tree_below_sys_is_read_where_proc_has_no_link(tmp_path: Path) -> None:
    folder = tmp_path / "sys" / "firmware" / "devicetree" / "base"
    folder.mkdir(parents=True)
    (folder / "compatible").write_bytes(b"nvidia,p3834-0008\0")
    assert find("auto", tmp_path).name == "jetson-thor"


def test_no_machine_at_all_is_a_pc_and_none_is_no_file(tmp_path: Path) -> None:
    found = find("auto", tmp_path)
    assert (found.name, found.unknown, found.described("PC")) == ("pc", False, "PC: file pc, no device tree")
    none = read_layers(None, ["board=none"], {})
    assert (none.board.name, none.board.described("")) == ("", 'no file of a board is used (board = "none")')
    assert settings_of(none).hardware.name == ""
    assert [layer.origin for layer in none.layers] == ["--set board"]


def test_a_board_of_your_own_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text('[hardware]\nname = "Mine"\n[budget]\ndisk = "1GiB"\n')
    layers = read_layers(None, [f"board={tmp_path / 'mine.toml'}"], {})
    assert (settings_of(layers).hardware.name, layers.origin("budget.disk")) == ("Mine", "board mine")
    assert layers.board.described("Mine") == "Mine: file mine, named in the settings"
    monkeypatch.chdir(tmp_path)
    assert load(None, ["board=mine.toml"]).budget.disk == "1GiB"
    (tmp_path / "mine.toml").rename(tmp_path / "mine")
    assert load(None, ["board=./mine"]).budget.disk == "1GiB"


@pytest.mark.parametrize(("named", "hint"), [("jetson-orin-nan", "jetson-orin-nano-8gb"), ("door-camera", "see: edgemem boards")])
def test_a_wrong_board_is_refused_with_the_nearest(named: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        load(None, [f"board={named}"])


def test_each_layer_wins_over_those_below_it_and_the_rest_stays(tmp_path: Path) -> None:
    board = tmp_path / "board.toml"
    board.write_text('[hardware]\nname = "B"\n[budget]\ndisk = "1GiB"\nram = "1GiB"\nwatts = 1\nfps = 1\n')
    file = tmp_path / "deployment.toml"
    file.write_text(f'board = "{board}"\n[budget]\nram = "2GiB"\nwatts = 2\nfps = 2\n')
    variables = {"EDGEMEM__BUDGET__WATTS": "3", "EDGEMEM__BUDGET__FPS": "3", "EDGEMEM_HOME": "/x", "EDGEMEM__TIMEZONE": "Europe/Vienna"}
    layers = read_layers(file, ["budget.fps=4", "budget.fps=5"], variables)
    settings = settings_of(layers)
    budget = settings.budget
    assert (budget.disk, budget.ram, budget.watts, budget.fps, settings.timezone) == ("1GiB", "2GiB", 3.0, 5.0, "Europe/Vienna")
    origins = {key: layers.origin(f"budget.{key}") for key in ("disk", "ram", "watts", "fps")}
    assert origins == {
        "disk": "board board", "ram": str(file), "watts": "environment EDGEMEM__BUDGET__WATTS", "fps": "--set budget.fps",
    }  # fmt: skip
    assert layers.origin("recipe") == layers.origin("budget.disk.x") == "default"


def test_the_file_that_the_environment_names_is_the_deployment(tmp_path: Path) -> None:
    file = tmp_path / "edgemem.toml"
    file.write_text('recipe = "vam"\n')
    assert settings_of(read_layers(None, (), {"EDGEMEM_CONFIG": str(file)})).recipe == "vam"
    other = tmp_path / "other.toml"
    other.write_text("")
    assert settings_of(read_layers(other, (), {"EDGEMEM_CONFIG": str(file)})).recipe == "default"
    assert settings_of(read_layers(None, (), {"EDGEMEM_CONFIG": ""})).recipe == "default"


def test_tables_are_merged_and_lists_replaced() -> None:
    below = {"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": {"x": 1}}
    above = {"a": {"y": [3], "z": {"q": 1}}, "b": {"n": 1}, "c": 2}
    assert merge(below, above) == {"a": {"x": 1, "y": [3], "z": {"q": 1}}, "b": {"n": 1}, "c": 2}
    assert below == {"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": {"x": 1}}


@pytest.mark.parametrize(
    ("variables", "overrides", "message"),
    [
        ({"EDGEMEM__BUDGET__DSK": "1"}, [], r'environment EDGEMEM__BUDGET__DSK: unknown key "dsk" at `budget` \(did you mean "disk"\?\)'),
        ({"EDGEMEM__BUDGT": "1"}, [], r'unknown key "budgt" \(did you mean "budget"\?\)'),
        ({"EDGEMEM__" + "X" * 100: "1"}, [], f"environment EDGEMEM__{'X' * 71}: unknown"),
        ({"EDGEMEM__": "1"}, [], "write it like EDGEMEM__BUDGET__DISK"),
        ({"EDGEMEM__BUDGET____DISK": "1"}, [], "write it like EDGEMEM__BUDGET__DISK"),
        ({}, ["governor.check=1"], r'--set governor.check: unknown key "check" at `governor` \(did you mean "check_s"\?\)'),
        ({}, ["budget.disk=1", "hardware.rail=[]"], r'--set hardware.rail: unknown key "rail" at `hardware` \(did you mean "rails"\?\)'),
        ({}, ["board=3"], "--set board: Expected `str`, got `int`"),
        ({}, ["hardware=3"], "--set hardware: Expected `object`"),
        ({}, ["budget.ram=much"], "is not a size"),
        ({}, ["governor.check_s=0"], "governor.check_s"),
        ({}, ["governor.heat_margin_c=-0.1"], "governor.heat_margin_c"),
        ({}, ["governor.heat_recover_c=100.1"], "governor.heat_recover_c"),
        ({}, ["governor.memory_recover_percent=100.1"], "governor.memory_recover_percent"),
        ({}, ["governor.recover_most_s=86401"], "governor.recover_most_s"),
        ({}, ["governor.least_fps=0"], "governor.least_fps"),
        ({}, ["budget.watts=-1"], "budget.watts"),
        ({}, ["hardware.limit_c=150.1"], "hardware.limit_c"),
        ({}, ["governor.heat_margin_c=10"], "heat_margin_c must be below heat_recover_c"),
        ({}, ["governor.memory_low_percent=4"], "memory_critical_percent must be below memory_low_percent"),
        ({}, ["governor.memory_recover_percent=10"], "memory_low_percent must be below memory_recover_percent"),
        ({}, ["governor.stalled_percent=5"], "stalled_recover_percent must be below stalled_percent"),
        ({}, ["governor.battery_low_percent=10"], "battery_critical_percent must be below battery_low_percent"),
        ({}, ["governor.recover_most_s=119"], "recover_s must not be above recover_most_s"),
        ({}, ["tables.x.y=1"], 'unknown key "tables"'),
    ],
)
def test_an_error_names_its_layer_and_the_nearest_key(variables: dict[str, str], overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        settings_of(read_layers(None, overrides, variables))
    assert "\n" not in str(caught.value)


def test_the_limits_of_the_governor_may_be_set_to_their_ends() -> None:
    ends = {
        "heat_margin_c": 0,
        "heat_recover_c": 100,
        "memory_critical_percent": 0,
        "memory_recover_percent": 100,
        "recover_most_s": 86_400,
    }
    found = load(None, [f"governor.{key}={value}" for key, value in ends.items()]).governor
    assert {key: getattr(found, key) for key in ends} == ends
    assert load(None, ["hardware.limit_c=150", "budget.fps=1000"]).hardware.limit_c == 150


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (["governor.power_recover_percent=-0.5"], "`governor.power_recover_percent`"),
        (["governor.power_recover_percent=100.5"], "`governor.power_recover_percent`"),
        (["governor.check_s=0"], "`governor.check_s`"),
        (["governor.check_s=86401"], "`governor.check_s`"),
        (["governor.heat_recover_c=100.5"], "`governor.heat_recover_c`"),
        (["governor.heat_margin_c=-0.5"], "`governor.heat_margin_c`"),
        (["governor.heat_margin_c=7", "governor.heat_recover_c=7"], "heat_margin_c must be below heat_recover_c"),
        (["governor.memory_low_percent=6", "governor.memory_critical_percent=6"], "memory_critical_percent must be below"),
        (["governor.memory_low_percent=12", "governor.memory_recover_percent=12"], "memory_low_percent must be below"),
        (["governor.stalled_percent=9", "governor.stalled_recover_percent=9"], "stalled_recover_percent must be below"),
        (["governor.battery_low_percent=9", "governor.battery_critical_percent=9"], "battery_critical_percent must be below"),
        (["governor.recover_s=61", "governor.recover_most_s=60"], "recover_s must not be above recover_most_s"),
    ],
)
def test_what_is_beyond_the_ends_of_the_governor_is_refused(overrides: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        load(None, overrides)


def test_two_values_that_fit_together_may_come_from_two_layers(tmp_path: Path) -> None:
    """The default of recover_most_s is 1920 s: one value alone is wrong, whichever layer is above."""
    file = tmp_path / "edgemem.toml"
    file.write_text("[governor]\nrecover_s = 3600\n")
    with pytest.raises(UsageError, match=r"edgemem\.toml: recover_s must not be above recover_most_s"):
        load(file)
    assert load(file, ["governor.recover_most_s=7200"]).governor.recover_most_s == 7200
    assert load(None, ["governor.recover_most_s=7200", "governor.recover_s=3600"]).governor.recover_s == 3600
    with pytest.raises(UsageError, match=r"edgemem\.toml: recover_s must not be above recover_most_s"):
        load(file, ["governor.recover_most_s=3599"])
    with pytest.raises(UsageError, match="settings: heat_margin_c must be below heat_recover_c"):
        load(None, ["governor.heat_margin_c=8", "governor.heat_recover_c=7"])


def test_what_is_just_within_them_is_taken() -> None:
    found = load(None, ["governor.recover_s=60", "governor.recover_most_s=60", "governor.check_s=0.5", "governor.heat_margin_c=0.5"])
    assert (found.governor.recover_s, found.governor.recover_most_s, found.governor.check_s) == (60, 60, 0.5)
    assert load(None, ["governor.power_recover_percent=0.5"]).governor.power_recover_percent == 0.5
    assert load(None, ["governor.power_recover_percent=99.5"]).governor.power_recover_percent == 99.5


def test_defaults_are_as_documented() -> None:
    """docs/boards.md: read every 5 s, 30 s to less work, two minutes to more, at most 32 minutes; 5 and 10 degrees; 85 %; 10, 4, 20 %;
    20, 5 %; 30, 10, 5 %; a tenth of a frame per second.
    """
    assert list(msgspec.structs.asdict(GovernorSettings()).values()) == [
        True, 5.0, 30.0, 120.0, 32 * 60.0, 5.0, 10.0, 85.0, 10.0, 4.0, 20.0, 20.0, 5.0, 30.0, 10.0, 5.0, 0.1, {},
    ]  # fmt: skip


def test_a_board_file_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[hardware]\nzone = []\n")
    with pytest.raises(UsageError, match=r'board mine: unknown key "zone" at `hardware` \(did you mean "zones"\?\)'):
        load(None, [f"board={tmp_path / 'mine.toml'}"])


def test_a_source_may_be_a_camera_of_the_board() -> None:
    one, two = load(None, ["board=raspberry-pi-5", 'run.sources=[{camera="usb"},{camera="csi",stream="door"}]']).run.sources
    assert (reveal(one.source), one.stream, one.camera) == ("/dev/video0", "usb", "")
    assert (reveal(two.source).startswith("gstreamer:libcamerasrc"), two.stream) == (True, "door")
    with pytest.raises(UsageError, match=r'the board has no camera "usc" \(did you mean'):
        load(None, ["board=raspberry-pi-5", 'run.sources=[{camera="usc"}]'])
    for wrong in ("{}", '{source="0",camera="usb"}', '{source=" "}'):
        with pytest.raises(UsageError, match="or camera a camera of the board"):
            load(None, [f"run.sources=[{wrong}]"])


def test_values_of_variables_are_toml_or_text() -> None:
    settings = settings_of(read_layers(None, (), {"EDGEMEM__ENGINES__THREADS": "3", "EDGEMEM__ENGINES__RUNTIME": '["onnx"]'}))
    assert (settings.engines.threads, settings.engines.runtime) == (3, ["onnx"])


def test_the_shipped_files_say_what_they_are() -> None:
    for path in firmware_dir().glob("*.toml"):
        assert path.read_text().startswith("# "), path.name


@pytest.mark.parametrize("kind", [Hardware, Budget, GovernorSettings])
def test_the_page_about_boards_has_every_key_and_board(kind: type[Hardware | Budget | GovernorSettings]) -> None:
    page = (firmware_dir().parent / "docs" / "boards.md").read_text()
    missing = [field.encode_name for field in msgspec.structs.fields(kind) if f"`{field.encode_name}`" not in page]
    assert not missing
    assert not [name for name in BOARDS if f"| `{name}` |" not in page]
