"""The simulated board: recordings as cameras, a disk that may be slow, and a tree of files with its temperatures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from edgemem import clock, files
from edgemem.device.peripherals import Peripherals
from edgemem.device.shared_store import SharedStore
from edgemem.device.simulation.camera import SimulatedCamera
from edgemem.device.simulation.faults import Faults
from edgemem.device.simulation.time import SimulatedTime
from edgemem.remember.store import Transaction
from edgemem.see.sources.base import Source

_NEVER = threading.Event()


class SimulatedBoard(Peripherals):
    """The peripherals of the agent in a simulation. It is also the `CameraFaults` of its cameras."""

    def __init__(self, faults: Faults, time: SimulatedTime) -> None:
        self.faults, self.time = faults, time
        self.cameras: dict[str, SimulatedCamera] = {}
        """By stream: the newest one."""
        self.shown: dict[str, int] = {}
        """Frames that closed cameras have sent, by stream."""
        self._opening: set[SimulatedCamera] = set()

    @property
    def opening(self) -> bool:
        """Whether a camera was opened and its frames are not read yet."""
        return bool(self._opening)

    def camera(self, opened: Callable[[], Source], rate_fps: float) -> Source:
        camera = SimulatedCamera(opened, rate_fps, self)
        before = self.cameras.get(camera.name)
        if before is not None:
            self.shown[camera.name] = self.shown.get(camera.name, 0) + before.shown
        self.cameras[camera.name] = camera
        self._opening.add(camera)
        return camera

    def store(self, directory: Path, budget_bytes: int, durability: Literal["normal", "full"]) -> SharedStore:
        store = _SlowStore.open(directory, budget_bytes=budget_bytes, durability=durability)
        assert isinstance(store, _SlowStore)
        store.delay_s = lambda: self.faults.delay_s(self.time.passed_s)
        return store

    def blind(self, stream: str) -> bool:
        """Whether its camera is gone now."""
        return self.faults.blind(stream, self.time.passed_s)

    def frozen(self, stream: str) -> bool:
        """Whether its camera repeats its last picture now."""
        return self.faults.frozen(stream, self.time.passed_s)

    def began(self, camera: SimulatedCamera) -> None:
        """Its frames are read from now on, in this thread."""
        self.time.take_part()
        self._opening.discard(camera)

    def ended(self, camera: SimulatedCamera) -> None:
        """It was closed."""
        self._opening.discard(camera)

    def frames_shown(self, stream: str) -> int:
        """Frames that the cameras of a stream have sent."""
        camera = self.cameras.get(stream)
        return self.shown.get(stream, 0) + (camera.shown if camera is not None else 0)


class _SlowStore(SharedStore):
    """A store whose transactions take simulated time."""

    delay_s: Callable[[], float] = staticmethod(lambda: 0.0)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.turn:
            with super().transaction() as tx:
                yield tx
            delay_s = self.delay_s()
            if delay_s:
                clock.wait(_NEVER, delay_s)


def write_zones(root: Path, faults: Faults, at_s: float) -> None:
    """Write the temperatures as Linux shows them (Documentation/ABI/testing/sysfs-class-thermal): files below `root`/sys/class/thermal."""
    for number, zone in enumerate(faults.zones()):
        folder = root / "sys" / "class" / "thermal" / f"thermal_zone{number}"
        values: dict[str, Any] = {"temp": round(1000 * zone.celsius(at_s))}
        if not folder.is_dir():
            files.make_directory(folder)
            values |= {
                "type": zone.zone,
                "mode": "enabled",
                "trip_point_0_temp": round(1000 * zone.trip_c),
                "trip_point_0_type": "passive",
                "trip_point_1_temp": round(1000 * zone.critical_c),
                "trip_point_1_type": "critical",
            }
        for name, value in values.items():
            files.write_file(folder / name, f"{value}\n".encode())  # a reader never sees half a number
