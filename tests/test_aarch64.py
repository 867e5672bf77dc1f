"""The check of aarch64 wheels reads pins and dependencies as pip does, and finds a wheel of each pin."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("aarch64_check", ROOT / "tools" / "aarch64_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["aarch64_check"] = module
    spec.loader.exec_module(module)
    return module


PINS = """# a comment
av==17.1.0; python_version == "3.10"
av==19.0.2; python_version == "3.12"
Rapid_OCR==3.9.2
openvino==1.0; platform_machine == "x86_64"
"""


def test_a_pin_counts_where_its_marker_holds_on_a_board(check: ModuleType) -> None:
    assert check.pins(PINS, "3.10") == {"av": ("av", "17.1.0"), "rapid-ocr": ("rapid-ocr", "3.9.2")}
    assert check.pins(PINS, "3.12")["av"].version == "19.0.2"


@pytest.mark.parametrize("python", ["3.10", "3.12"])
def test_every_dependency_of_a_board_is_pinned(check: ModuleType, python: str) -> None:
    needed, pinned = check.direct(python), check.pins((ROOT / "constraints.txt").read_text(), python)
    assert {"numpy", "av", "onnxruntime", "sqlcipher3", "opencv-python-headless"} <= needed
    assert ("tomli" in needed) is (python == "3.10")
    assert not needed - set(pinned)


def test_a_wheel_of_a_newer_c_library_than_the_board_has_does_not_count(check: ModuleType) -> None:
    jetpack_6, jetpack_7 = check.tags("3.10"), check.tags("3.12")
    assert {"manylinux_2_35_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"} <= set(jetpack_6)
    assert "manylinux_2_36_aarch64" not in jetpack_6
    assert "manylinux_2_39_aarch64" in jetpack_7
    assert not [tag for tag in jetpack_6 + jetpack_7 if "x86" in tag]


@pytest.mark.parametrize("python", ["3.10", "3.12"])
def test_every_pin_has_a_wheel_for_the_boards(check: ModuleType, capsys: pytest.CaptureFixture[str], python: str) -> None:
    """Asks the registry from which this environment was installed."""
    assert check.check(python, every=True) == 0
    found = re.fullmatch(r"Python 3\.1\d on aarch64: (\d+) of (\d+) pins have a wheel\n", capsys.readouterr().out)
    assert found is not None
    assert found[1] == found[2]
    assert int(found[1]) > 60


def test_a_pin_without_a_wheel_is_named(check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        check, "pins", lambda _text, _python: {"numpy": check.Pin("numpy", "0.0.1"), "msgspec": check.Pin("msgspec", "0.20.0")}
    )
    monkeypatch.setattr(check, "direct", lambda _python: {"numpy", "msgspec", "nowhere"})
    assert check.check("3.12", every=False) == 2
    out = capsys.readouterr().out
    assert "missing nowhere: constraints.txt does not pin it" in out
    assert "missing numpy 0.0.1: " in out
    assert "Python 3.12 on aarch64: 1 of 2 pins have a wheel" in out
