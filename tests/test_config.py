"""Settings are strict, and errors are one line."""

from pathlib import Path

import pytest

from edgemem.config import Settings, home_dir, load, parse_bytes
from edgemem.errors import UsageError
from edgemem.extend.plugins import Plugins

FIRMWARE = sorted((Path(__file__).parent.parent / "firmware_configs").glob("*.toml"))


@pytest.mark.parametrize("path", FIRMWARE, ids=lambda path: path.stem)
def test_every_firmware_config_loads(path: Path) -> None:
    assert parse_bytes(load(path).budget.disk) > 0


@pytest.mark.parametrize(
    ("override", "hint"),
    [
        ("budget.dsk=1", 'did you mean "disk"?'),
        ("budgt.disk=1", 'did you mean "budget"?'),
        ("budget.disk=lots", "64MiB"),
        ("budget", "KEY=VALUE"),
        ("engines.threads=many", "engines.threads"),
        ("recipe.name=x", "recipe"),
    ],
)
def test_a_wrong_override_is_refused_with_a_hint(override: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        Plugins.load(installed=False).tables(load(None, [override]))
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_later_overrides_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "edgemem.toml"
    file.write_text('recipe = "vam"\n[budget]\ndisk = "1GiB"\n')
    settings = load(file, ["budget.disk=64MiB", "engines.threads=3"])
    assert (settings.recipe, settings.budget.disk, settings.engines.threads) == ("vam", "64MiB", 3)


def test_a_file_with_an_unknown_key_names_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / "edgemem.toml"
    file.write_text("[engines]\nthread = 2\n")
    with pytest.raises(UsageError, match=r'edgemem\.toml.*"thread".*did you mean "threads"'):
        load(file)


def test_broken_toml_and_missing_files_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("recipe = \n")
    for path in (file, tmp_path / "absent.toml"):
        with pytest.raises(UsageError) as caught:
            load(path)
        assert path.name in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64MiB", 64 << 20),
        ("1.5 GB", 1_500_000_000),
        ("4096", 4096),
        ("2kb", 2000),
        ("3B", 3),
        ("2MB", 2_000_000),
        ("2TB", 2 * 10**12),
        ("2KiB", 2048),
        ("2TiB", 2 << 40),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


def test_home_is_the_setting_then_the_environment_then_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEMEM_HOME", "/a")
    monkeypatch.setenv("XDG_DATA_HOME", "/x")
    assert home_dir(Settings(home="/s")) == Path("/s")
    assert home_dir(Settings()) == Path("/a")
    monkeypatch.delenv("EDGEMEM_HOME")
    assert home_dir(Settings()) == Path("/x/edgemem")
