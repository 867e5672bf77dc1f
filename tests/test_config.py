"""Settings are strict, and errors are one line."""

from pathlib import Path

import msgspec
import pytest

from edgemem import board_settings, boards, config
from edgemem.config import KeepRule, ModelSettings, QuestionCaps, Settings, home_dir, load, parse_bytes
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


def _tables(module: object) -> list[type[msgspec.Struct]]:
    found = (kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct))
    return [kind for kind in found if kind is not msgspec.Struct]


@pytest.mark.parametrize("kind", dict.fromkeys([*_tables(config), *_tables(board_settings)]), ids=lambda kind: kind.__name__)
def test_every_table_is_strict_and_cannot_be_changed(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.forbid_unknown_fields or kind is boards.BoardFile


def test_the_defaults_of_tables_without_a_page_of_their_own() -> None:
    """The figures that `edgemem config schema` and docs/guide.md give."""
    settings = Settings()
    assert (settings.store.durability, settings.engines.threads, settings.engines.runtime) == ("normal", 0, ["onnx"])
    models = settings.models
    assert (models.parallel, models.send_pictures, models.tokens_per_question, models.seconds_per_question) == (4, True, None, None)
    assert models.caps(QuestionCaps()) == QuestionCaps(tokens_per_question=60_000, seconds_per_question=600.0)
    assert models.caps(QuestionCaps(tokens_per_question=7, seconds_per_question=8)) == QuestionCaps(7, 8)
    assert ModelSettings(tokens_per_question=0, seconds_per_question=0).caps(QuestionCaps()) == QuestionCaps(0, 0)
    assert KeepRule(keep_days=1) == KeepRule(keep_days=1, stream="*", place="", min_score=0.3)
    assert (settings.privacy.streams, settings.teach.by_voice, settings.budget.disk) == (["*"], True, "4GiB")
    assert (settings.budget.ram, settings.budget.watts, settings.budget.fps) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("override", "taken"),
    [
        ("engines.threads=1024", True),
        ("engines.threads=1025", False),
        ("engines.threads=-1", False),
        ("models.parallel=1", True),
        ("models.parallel=0", False),
        ("models.parallel=64", True),
        ("models.parallel=65", False),
        ("models.tokens_per_question=0", True),
        ("models.tokens_per_question=-1", False),
        ("models.seconds_per_question=1000000", True),
        ("models.seconds_per_question=1000001", False),
        ("models.tasks.planner.max_tokens=1", True),
        ("models.tasks.planner.max_tokens=0", False),
        ("models.tasks.planner.thinking_tokens=0", True),
        ("models.tasks.planner.thinking_tokens=-1", False),
        ("models.tasks.planner.silence_s=0.5", True),
        ("models.tasks.planner.silence_s=0.0", False),
        ("retention=[{keep_days=0}]", True),
        ("retention=[{keep_days=-0.5}]", False),
        ("retention=[{keep_days=1000000}]", True),
        ("retention=[{keep_days=1000001}]", False),
        ("privacy.masks={door=[[0,0,1,1]]}", True),
        ("privacy.masks={door=[[0,0,1.5,1]]}", False),
        ("privacy.masks={door=[[0.5,0,0.5,1]]}", False),
        ("privacy.masks={door=[[0,0.5,1,0.5]]}", False),
        ("privacy.masks={door=[[-0.5,0,1,1]]}", False),
        ("budget.watts=10000", True),
        ("budget.watts=10001", False),
        ("budget.fps=1001", False),
        ("budget.fps=-1", False),
        ("hardware.limit_c=151", False),
        ("hardware.limit_c=0", False),
        ("hardware.limit_c=1", True),
        ("governor.least_fps=0", False),
        ("governor.least_fps=0.5", True),
        ("governor.least_fps=1001", False),
    ],
)
def test_a_number_may_be_at_its_end_and_not_beyond(override: str, taken: bool) -> None:
    if taken:
        load(None, [override])
    else:
        with pytest.raises(UsageError):
            load(None, [override])


def test_tables_in_one_another_have_an_end() -> None:
    """64 are taken: the file, the table of tables of plugins, [x], and 61 lists."""
    load(None, [f"x.y={'[' * 61}{']' * 61}"])
    with pytest.raises(UsageError, match="tables stand in one another without end"):
        load(None, [f"x.y={'[' * 62}{']' * 62}"])


def test_whole_numbers_have_64_bits() -> None:
    for number in (-(1 << 63), (1 << 63) - 1):
        load(None, [f"x.y={number}"])
    for number in (-(1 << 63) - 1, 1 << 63):
        with pytest.raises(UsageError, match="beyond what 64 bits hold"):
            load(None, [f"x.y={number}"])
