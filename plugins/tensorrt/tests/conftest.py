"""The real Python bindings of TensorRT over libraries that return null pointers, and small stand-ins for a GPU.

Nothing here tests inference: no test in this folder runs a model, and none could without a GPU.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemem.extend.testing import load_file

tool = load_file(Path(__file__).resolve().parents[3] / "tools" / "tensorrt_types.py")


@pytest.fixture(params=tool.VERSIONS, ids=[one.version for one in tool.VERSIONS])
def bindings(request):
    """Each version of the bindings in turn; skipped with the reason where they cannot be had."""
    try:
        tool.environment(request.param, tool.default_folder())
    except tool.UnavailableError as reason:
        pytest.skip(f"TensorRT {request.param.version}: {reason}")
    return request.param
