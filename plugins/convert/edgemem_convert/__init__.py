"""Converters of fetched weights to ONNX, the format of every runtime. Heavy libraries are loaded when a converter is used."""

from __future__ import annotations

from typing import Any

from edgemem.extend.hookspecs import Component, Components, NoSettings, hookimpl
from edgemem_convert.settings import BertSettings, LstmSettings, RepairSettings, TfjsSettings, TfliteSettings


def _bert(settings: BertSettings, _context: Any) -> Any:
    from edgemem_convert.bert import BertConverter

    return BertConverter(settings)


def _ctranslate_int8(_settings: NoSettings, _context: Any) -> Any:
    from edgemem_convert.ctranslate import CTranslateInt8Converter

    return CTranslateInt8Converter()


def _join(_settings: NoSettings, _context: Any) -> Any:
    from edgemem_convert.join import JoinConverter

    return JoinConverter()


def _lstm(settings: LstmSettings, _context: Any) -> Any:
    from edgemem_convert.lstm import LstmConverter

    return LstmConverter(settings)


def _repair(settings: RepairSettings, _context: Any) -> Any:
    from edgemem_convert.repair import RepairConverter

    return RepairConverter(settings)


def _tfjs(settings: TfjsSettings, _context: Any) -> Any:
    from edgemem_convert.tfjs_model import TfjsConverter

    return TfjsConverter(settings)


def _tflite(settings: TfliteSettings, _context: Any) -> Any:
    from edgemem_convert.tflite_model import TfliteConverter

    return TfliteConverter(settings)


@hookimpl
def register_converters() -> Components:
    """One converter per format of weights."""
    return (
        Component("bert", _bert, BertSettings, "BERT sentence encoders in safetensors, float or int8"),
        Component("ctranslate_int8", _ctranslate_int8, NoSettings, "CTranslate2 models in float16, to int8 weights"),
        Component("join", _join, NoSettings, "a file that was split into parts"),
        Component("lstm", _lstm, LstmSettings, "speaker encoders of LSTM layers in torch's old format, read without torch"),
        Component("repair", _repair, RepairSettings, "ONNX exported for one picture size: free dimensions, folded weights"),
        Component("tfjs", _tfjs, TfjsSettings, "TensorFlow.js graph models"),
        Component("tflite", _tflite, TfliteSettings, "TensorFlow Lite classifiers, in float or in their own int8"),
    )
