"""Times and failures of components are summed over runs; each call counts once, even if it is saved several times."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemem.errors import PluginFailure
from edgemem.extend import builtin
from edgemem.extend.plugins import Plugins
from edgemem.extend.stats import load_stats, save_stats


def fails() -> None:
    raise ValueError("broken")


def test_counts_are_added_once(tmp_path: Path) -> None:
    plugins = Plugins.of(builtin)
    guard = plugins.guards["gates", "blur"]
    for times in (1, 2):
        for _ in range(3):
            guard.call(lambda: None)
        with pytest.raises(PluginFailure):
            guard.call(fails)
        save_stats(tmp_path, plugins)
        save_stats(tmp_path, plugins)
        stats = load_stats(tmp_path)["gates/blur"]
        assert (stats.calls, stats.failures, stats.last_failure) == (4 * times, times, "ValueError: broken")
    assert "gates/ssim" not in load_stats(tmp_path)
