"""A camera together with a microphone."""

from __future__ import annotations

from collections.abc import Iterator

from edgemem.errors import SourceError
from edgemem.records import BEFORE_START_US, Frame, Sound
from edgemem.see.sources.camera import Camera
from edgemem.see.sources.sound import Microphone


class CameraWithSound:
    """A camera together with a microphone, such as `0+alsa:default`: the frames of one, the sound of the other, on one clock."""

    live = True
    has_sound = True
    identity = ""
    duration_us: int | None = None

    def __init__(self, camera: Camera, spec: str) -> None:
        """Raises SourceError for a microphone that cannot be opened; the camera is closed then."""
        self._camera = camera
        self.name, self.t0_us, self.dropped = camera.name, camera.t0_us, camera.dropped
        try:
            self._microphone = Microphone(spec, stream=camera.name, mono0_us=camera.mono0_us)
        except SourceError:
            camera.close()
            raise

    @property
    def blind(self) -> str:
        """As the camera."""
        return self._camera.blind

    def skip_to(self, offset_us: int) -> None:
        """Nothing to skip."""

    def set_rate(self, rate_fps: float) -> None:
        """Of the camera."""
        self._camera.set_rate(rate_fps)

    def frames(self) -> Iterator[Frame]:
        """The camera's."""
        return self._camera.frames()

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """The microphone's, under the camera's name."""
        return self._microphone.sounds(after_us)

    def close(self) -> None:
        self._microphone.close()
        self._camera.close()
