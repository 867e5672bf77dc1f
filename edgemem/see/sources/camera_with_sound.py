"""A camera together with a microphone."""

from __future__ import annotations

from collections.abc import Iterator

from edgemem.errors import SourceError
from edgemem.records import BEFORE_START_US, Frame, Sound
from edgemem.see.sources.camera import Camera
from edgemem.see.sources.sound import Microphone


class CameraWithSound:
    """A camera together with a microphone, such as `0+alsa:default`: frames of the camera and sound of the microphone, with one clock."""

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
        """The reason of the camera."""
        return self._camera.blind

    def skip_to(self, offset_us: int) -> None:
        """Nothing to skip."""

    def set_rate(self, rate_fps: float) -> None:
        """Set the rate of the camera."""
        self._camera.set_rate(rate_fps)

    def frames(self) -> Iterator[Frame]:
        """The frames of the camera."""
        return self._camera.frames()

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """The sound of the microphone, with the name of the camera's stream."""
        return self._microphone.sounds(after_us)

    def close(self) -> None:
        self._microphone.close()
        self._camera.close()
