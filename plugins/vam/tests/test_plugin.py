"""The plugin keeps its protocols and ships a recipe that loads."""

from __future__ import annotations

import edgemem_vam

from edgemem.extend.testing import check_plugin


def test_plugin_keeps_its_protocols():
    assert set(check_plugin(edgemem_vam)) == {"selectors/adaptive_dedup", "segmenters/otsu_events", "writers/vam_event"}
