"""The contract with plugins. A plugin needs only the names that can be imported from here (and numpy and msgspec).

Names are imported when they are first used, so that `edgemem --help` does not load their modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgemem.extend.hookspecs import Component, NoSettings, SettingsTable, hookimpl

if TYPE_CHECKING:
    from edgemem.answer.check import BaseCheck, Check
    from edgemem.answer.generator_planner import Thinking, Thought
    from edgemem.answer.planner import Planner
    from edgemem.answer.retrieve import Hits, Query, Retriever
    from edgemem.answer.session import Session, Step
    from edgemem.answer.tool_base import BasePlanner, BaseTool, ToolResult
    from edgemem.answer.tools import (
        Action,
        Count,
        Found,
        Inspect,
        Read,
        Refused,
        Reply,
        Result,
        Search,
        Tool,
        action_schema,
        decode_action,
        describe_moment,
    )
    from edgemem.errors import ChatError, EdgememError, EngineError, RuntimeUnavailable, SourceError, UsageError
    from edgemem.events import EntityNamed, Event, Health, QuestionAnswered, QuestionStep, SegmentStored, StreamStatus, UtteranceHeard
    from edgemem.extend.context import PluginContext
    from edgemem.extend.feed import Feed, Subscription
    from edgemem.extend.output import print_json, print_line
    from edgemem.extend.services import AgentHandle, Service
    from edgemem.extend.transports import Delivery, OutboxBatch, Transport
    from edgemem.files import change_or_create, make_directory, read_file, write_file
    from edgemem.hear.listen import Heard, SpeechRecogniser, Word
    from edgemem.infer.card import EngineCard, Model, SizeRange, Tensor
    from edgemem.infer.chat import Chat, ChatMessage, Completion, Prompt, TokenLogprob
    from edgemem.infer.engines import DecoderParts, Engines
    from edgemem.infer.fetch import Converter, Progress, sha256_of
    from edgemem.infer.onnx_file import onnx_metadata
    from edgemem.infer.roles import Engine, Face, FaceDetector, FaceEmbedder, ImageAnalysis, JointEmbedder, Reader, Space, TextEmbedder
    from edgemem.infer.runtime import CheckedEngine, Runtime, RuntimeContext, Signature, TensorInfo
    from edgemem.llm.models import Models
    from edgemem.records import (
        SOUND_RATE_HZ,
        US,
        Answer,
        Box,
        Document,
        Entity,
        Evidence,
        Frame,
        Image,
        Matrix,
        Moment,
        Observation,
        Origin,
        Question,
        Quote,
        Record,
        Relation,
        Segment,
        Sound,
        Utterance,
        Vector,
        least_trusted,
    )
    from edgemem.remember.administration import open_view
    from edgemem.remember.disk.directory import require_outside
    from edgemem.remember.entries import NewDocument, NewPassage
    from edgemem.remember.results import SessionLog, Spoken
    from edgemem.remember.tiers import Retainer, RetentionStep
    from edgemem.remember.view import View
    from edgemem.secret import Secret, reveal
    from edgemem.see.gate import PASS, Gate, Look, Verdict
    from edgemem.see.operations import (
        BaseWriter,
        BoardIdle,
        EndRelation,
        Mentioned,
        MomentEvicted,
        Node,
        Occasion,
        Operation,
        Postpone,
        ReplaceDocument,
        RetireDocument,
        Same,
        SegmentClosed,
        SegmentsClosed,
        Split,
        StreamEnded,
        Trigger,
        Triple,
        Writer,
    )
    from edgemem.see.perceive import BasePerceiver, HeldSpace, Part, Perceiver, Perception
    from edgemem.see.segment import BaseSegmenter, Cut, Mark, Segmenter, StoredMark
    from edgemem.see.select import BaseSelector, Candidate, Decision, Evict, Keep, Pin, Replace, Selector, Unpin
    from edgemem.see.sources.base import BaseSource, Source, SourceContext
    from edgemem.see.write import sure_names
    from edgemem.words import singular

_HOMES = {
    "edgemem.answer.check": ("BaseCheck", "Check"),
    "edgemem.answer.generator_planner": ("Thinking", "Thought"),
    "edgemem.llm.models": ("Models",),
    "edgemem.answer.planner": ("Planner",),
    "edgemem.answer.retrieve": ("Hits", "Query", "Retriever"),
    "edgemem.answer.session": ("Session", "Step"),
    "edgemem.answer.tool_base": ("BasePlanner", "BaseTool", "ToolResult"),
    "edgemem.answer.tools": (
        "Action", "Count", "Found", "Inspect", "Read", "Refused", "Reply", "Result", "Search", "Tool", "action_schema", "decode_action",
        "describe_moment",
    ),
    "edgemem.errors": ("ChatError", "EdgememError", "EngineError", "RuntimeUnavailable", "SourceError", "UsageError"),
    "edgemem.events": (
        "EntityNamed", "Event", "Health", "QuestionAnswered", "QuestionStep", "SegmentStored", "StreamStatus", "UtteranceHeard"
    ),
    "edgemem.extend.context": ("PluginContext",),
    "edgemem.extend.feed": ("Feed", "Subscription"),
    "edgemem.extend.output": ("print_json", "print_line"),
    "edgemem.extend.services": ("AgentHandle", "Service"),
    "edgemem.extend.transports": ("Delivery", "OutboxBatch", "Transport"),
    "edgemem.files": ("change_or_create", "make_directory", "read_file", "write_file"),
    "edgemem.hear.listen": ("Heard", "SpeechRecogniser", "Word"),
    "edgemem.infer.card": ("EngineCard", "Model", "SizeRange", "Tensor"),
    "edgemem.infer.chat": ("Chat", "ChatMessage", "Completion", "Prompt", "TokenLogprob"),
    "edgemem.infer.engines": ("DecoderParts", "Engines"),
    "edgemem.infer.fetch": ("Converter", "Progress", "sha256_of"),
    "edgemem.infer.onnx_file": ("onnx_metadata",),
    "edgemem.infer.roles": (
        "Engine", "Face", "FaceDetector", "FaceEmbedder", "ImageAnalysis", "JointEmbedder", "Reader", "Space", "TextEmbedder"
    ),
    "edgemem.infer.runtime": ("CheckedEngine", "Runtime", "RuntimeContext", "Signature", "TensorInfo"),
    "edgemem.records": (
        "SOUND_RATE_HZ", "US", "Answer", "Box", "Document", "Entity", "Evidence", "Frame", "Image", "Matrix", "Moment", "Observation",
        "Origin", "Question", "Quote", "Record", "Relation", "Segment", "Sound", "Utterance", "Vector", "least_trusted",
    ),
    "edgemem.remember.administration": ("open_view",),
    "edgemem.remember.disk.directory": ("require_outside",),
    "edgemem.remember.entries": ("NewDocument", "NewPassage"),
    "edgemem.remember.results": ("SessionLog", "Spoken"),
    "edgemem.remember.tiers": ("Retainer", "RetentionStep"),
    "edgemem.remember.view": ("View",),
    "edgemem.secret": ("Secret", "reveal"),
    "edgemem.see.gate": ("PASS", "Gate", "Look", "Verdict"),
    "edgemem.see.operations": (
        "BaseWriter", "BoardIdle", "EndRelation", "Mentioned", "MomentEvicted", "Node", "Occasion", "Operation", "Postpone",
        "ReplaceDocument", "RetireDocument", "Same", "SegmentClosed", "SegmentsClosed", "Split", "StreamEnded", "Trigger", "Triple",
        "Writer",
    ),
    "edgemem.see.perceive": ("BasePerceiver", "HeldSpace", "Part", "Perceiver", "Perception"),
    "edgemem.see.segment": ("BaseSegmenter", "Cut", "Mark", "Segmenter", "StoredMark"),
    "edgemem.see.select": ("BaseSelector", "Candidate", "Decision", "Evict", "Keep", "Pin", "Replace", "Selector", "Unpin"),
    "edgemem.see.sources.base": ("BaseSource", "Source", "SourceContext"),
    "edgemem.see.write": ("sure_names",),
    "edgemem.words": ("singular",),
}  # fmt: skip
"""The modules of the public names."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "PASS",
    "SOUND_RATE_HZ",
    "US",
    "Action",
    "AgentHandle",
    "Answer",
    "BaseCheck",
    "BasePerceiver",
    "BasePlanner",
    "BaseSegmenter",
    "BaseSelector",
    "BaseSource",
    "BaseTool",
    "BaseWriter",
    "BoardIdle",
    "Box",
    "Candidate",
    "Chat",
    "ChatError",
    "ChatMessage",
    "Check",
    "CheckedEngine",
    "Completion",
    "Component",
    "Converter",
    "Count",
    "Cut",
    "Decision",
    "DecoderParts",
    "Delivery",
    "Document",
    "EdgememError",
    "EndRelation",
    "Engine",
    "EngineCard",
    "EngineError",
    "Engines",
    "Entity",
    "EntityNamed",
    "Event",
    "Evict",
    "Evidence",
    "Face",
    "FaceDetector",
    "FaceEmbedder",
    "Feed",
    "Found",
    "Frame",
    "Gate",
    "Health",
    "Heard",
    "HeldSpace",
    "Hits",
    "Image",
    "ImageAnalysis",
    "Inspect",
    "JointEmbedder",
    "Keep",
    "Look",
    "Mark",
    "Matrix",
    "Mentioned",
    "Model",
    "Models",
    "Moment",
    "MomentEvicted",
    "NewDocument",
    "NewPassage",
    "NoSettings",
    "Node",
    "Observation",
    "Occasion",
    "Operation",
    "Origin",
    "OutboxBatch",
    "Part",
    "Perceiver",
    "Perception",
    "Pin",
    "Planner",
    "PluginContext",
    "Postpone",
    "Progress",
    "Prompt",
    "Query",
    "Question",
    "QuestionAnswered",
    "QuestionStep",
    "Quote",
    "Read",
    "Reader",
    "Record",
    "Refused",
    "Relation",
    "Replace",
    "ReplaceDocument",
    "Reply",
    "Result",
    "Retainer",
    "RetentionStep",
    "RetireDocument",
    "Retriever",
    "Runtime",
    "RuntimeContext",
    "RuntimeUnavailable",
    "Same",
    "Search",
    "Secret",
    "Segment",
    "SegmentClosed",
    "SegmentStored",
    "Segmenter",
    "SegmentsClosed",
    "Selector",
    "Service",
    "Session",
    "SessionLog",
    "SettingsTable",
    "Signature",
    "SizeRange",
    "Sound",
    "Source",
    "SourceContext",
    "SourceError",
    "Space",
    "SpeechRecogniser",
    "Split",
    "Spoken",
    "Step",
    "StoredMark",
    "StreamEnded",
    "StreamStatus",
    "Subscription",
    "Tensor",
    "TensorInfo",
    "TextEmbedder",
    "Thinking",
    "Thought",
    "TokenLogprob",
    "Tool",
    "ToolResult",
    "Transport",
    "Trigger",
    "Triple",
    "Unpin",
    "UsageError",
    "Utterance",
    "UtteranceHeard",
    "Vector",
    "Verdict",
    "View",
    "Word",
    "Writer",
    "action_schema",
    "change_or_create",
    "decode_action",
    "describe_moment",
    "hookimpl",
    "least_trusted",
    "make_directory",
    "onnx_metadata",
    "open_view",
    "print_json",
    "print_line",
    "read_file",
    "require_outside",
    "reveal",
    "sha256_of",
    "singular",
    "sure_names",
    "write_file",
]
"""Literal, so that type checkers see what is public; a test holds it equal to `_HOMES`."""


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value
