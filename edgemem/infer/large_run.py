"""Runs of models that need much memory for a moment take turns."""

from __future__ import annotations

import threading

LARGE_RUN = threading.Lock()
"""Held by a run that needs more than some 50 MB beside its weights: the text detector on a whole picture (70 MB), the encoder of Whisper on
its 30 s (90 MB). They run in threads of their own; together they would need the sum. Both use all cores, so that little time is lost."""
