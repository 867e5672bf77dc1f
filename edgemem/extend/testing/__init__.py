"""For plugin authors: fakes for tests, and one conformance check for every kind of component.

A plugin's test file is three lines: import the plugin, import `check_plugin`, call it.
"""

from edgemem.extend.scripted import ReplayChat, ScriptedChat
from edgemem.extend.testing.answering import check_check, check_planner, check_retriever, check_tool
from edgemem.extend.testing.fakes import T0_US, FakeClock, FakeEngine, FakeJointEmbedder, SyntheticCamera
from edgemem.extend.testing.models import check_chat, check_converter, check_decoder
from edgemem.extend.testing.plugin import CHECKS, Make, check_plugin, load_file
from edgemem.extend.testing.remembering import check_retainer
from edgemem.extend.testing.running import check_service, check_transport
from edgemem.extend.testing.runtimes import RUNTIME_CHECKS, check_runtime
from edgemem.extend.testing.seeing import check_gate, check_perceiver, check_recogniser, check_source
from edgemem.extend.testing.selecting import check_segmenter, check_selector
from edgemem.extend.testing.writing import check_writer

__all__ = [
    "CHECKS",
    "RUNTIME_CHECKS",
    "T0_US",
    "FakeClock",
    "FakeEngine",
    "FakeJointEmbedder",
    "Make",
    "ReplayChat",
    "ScriptedChat",
    "SyntheticCamera",
    "check_chat",
    "check_check",
    "check_converter",
    "check_decoder",
    "check_gate",
    "check_perceiver",
    "check_planner",
    "check_plugin",
    "check_recogniser",
    "check_retainer",
    "check_retriever",
    "check_runtime",
    "check_segmenter",
    "check_selector",
    "check_service",
    "check_source",
    "check_tool",
    "check_transport",
    "check_writer",
    "load_file",
]
