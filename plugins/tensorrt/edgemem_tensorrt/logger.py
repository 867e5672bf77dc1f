"""TensorRT's messages: errors are kept for the exception that follows, warnings go to the log."""

from __future__ import annotations

import logging
from collections import deque

import tensorrt as trt

_log = logging.getLogger(__name__)
_KEPT = 3


class Logger(trt.ILogger):
    """Keeps the last errors. TensorRT calls it from its own threads; a deque's methods are atomic."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self._errors: deque[str] = deque(maxlen=_KEPT)

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        """Called by TensorRT."""
        if severity in {trt.ILogger.Severity.INTERNAL_ERROR, trt.ILogger.Severity.ERROR}:
            self._errors.append(" ".join(msg.split()))
        elif severity == trt.ILogger.Severity.WARNING:
            _log.info("TensorRT: %s", msg)

    def reason(self) -> str:
        """The last errors in one line; they are forgotten. "it gave no reason" if there was none."""
        found = "; ".join(self._errors)
        self._errors.clear()
        return found[:500] or "it gave no reason"
