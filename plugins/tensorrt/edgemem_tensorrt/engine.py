"""An engine whose model runs on the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edgemem.extend import CheckedEngine, EngineError, Model
from edgemem_tensorrt.session import Session
from edgemem_tensorrt.thread import DeviceThread

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class TensorRTEngine(CheckedEngine):
    """Hands each run to the device's thread and waits for it; callers may be many."""

    def __init__(self, name: str, model: Model, session: Session, thread: DeviceThread, texts: Mapping[str, str]) -> None:
        """`texts`: those of the ONNX file, which a plan does not keep.

        Raises EngineError if the plan's tensors are not the card's; then the session is closed.
        """
        self._session: Session | None = session
        self._thread = thread
        self._texts = texts
        try:
            super().__init__(name, model, thread.call(lambda: session.signature(model.ranges)))
        except EngineError:
            self.close()
            raise

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._texts

    def _run(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.generic]]:
        wanted = list(self._model.outputs)
        return self._thread.call(lambda: self._open().run(arrays, wanted))

    def _open(self) -> Session:
        if self._session is None:
            raise EngineError(f"{self.name} was closed")
        return self._session

    def close(self) -> None:
        """Free the plan; twice does nothing."""
        session, self._session = self._session, None
        if session is not None:
            self._thread.call(session.close)
