"""The plugin keeps its protocols and ships a recipe that loads."""

from __future__ import annotations

from importlib.resources import files

import edgemem_vam

from edgemem.extend.testing import check_plugin


def test_plugin_keeps_its_protocols():
    assert set(check_plugin(edgemem_vam)) == {
        "selectors/adaptive_dedup", "segmenters/otsu_events", "writers/vam_event", "writers/vam_summaries",
        "writers/vam_conversations", "planners/vam", "tools/vam_survey", "tools/vam_search",
        "tools/vam_inspect", "tools/vam_adjudicate", "tools/vam_summarize",
    }  # fmt: skip


def test_every_prompt_is_a_task_that_settings_may_name_a_model_for():
    prompts = {path.name.removesuffix(".md") for path in files("edgemem_vam.prompts").iterdir() if path.name.endswith(".md")}
    assert prompts == {*edgemem_vam.register_tasks(), "data_rule"}
