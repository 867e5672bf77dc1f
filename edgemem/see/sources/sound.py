"""Sources of sound: the sound track of a video, a sound file, a microphone, a network stream.

All of it becomes mono float32 at 16 kHz in chunks of at most half a second, whatever the length of the recording.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgemem import clock
from edgemem.errors import SourceError
from edgemem.records import BEFORE_START_US, SOUND_RATE_HZ, US, Frame, Samples, Sound
from edgemem.secret import address
from edgemem.see.sources.base import BaseSource
from edgemem.see.sources.container import identity_of, open_container, reason

_SAME_US = 60_000
"""Containers round times (MP4 up to a millisecond, MP3 to a frame of 26 ms). If a time differs by less than this, the sound is taken as
continuous."""
_LIVE_LATE_US, _LIVE_EARLY_US = US, 2 * US
"""Live sound arrives in bursts, and its device has its own clock. The offset comes from the number of samples, unless it is late by more
than this (samples were lost) or early by more than this (the device's clock is fast: the surplus is removed)."""
CHUNK_S = 0.5
"""Longest sound that a source yields at a time."""
_CHUNK = round(CHUNK_S * SOUND_RATE_HZ)
_BROKEN_STRETCHES = 1000
"""If a container is broken in more places than this, the rest of it is not read."""
_TIMEOUT_S = 10.0
"""A network stream that is silent for so long is taken for lost."""
_SLOWEST_HZ, _FASTEST_HZ = 4_000, 768_000
"""Sample rates of real recordings. A packet at one sample a second would become four hours of sound."""
_LONGEST_US = 100 * 366 * 86_400 * US
"""A stamp that is further than a century from the first is no time."""
_ALSA_CONFIG = "/usr/share/alsa/alsa.conf"
_WAIT_S = 5.0
"""Time between attempts to open a lost microphone or network stream."""


class _Chunker:
    """Makes chunks with correct offsets from decoded sound. Small errors of the times are ignored; gaps and overlaps are not.

    Sound that overlaps with earlier sound is removed, so that offsets never go back.
    """

    def __init__(self, late_us: int = _SAME_US, early_us: int = _SAME_US) -> None:
        self._late_us, self._early_us = late_us, early_us
        self._parts: list[Samples] = []
        self._held = 0
        self._from_us: int | None = None

    def add(self, offset_us: int | None, samples: Samples) -> Iterator[tuple[int, Samples]]:
        """Full chunks, and the rest before a gap. A piece without a time follows the previous one."""
        due_us = self._due_us()
        if offset_us is None:
            offset_us = due_us if due_us is not None else 0
        if due_us is not None and offset_us > due_us + self._late_us:
            yield from self.rest()
        elif due_us is not None and offset_us < due_us - self._early_us:
            samples = samples[(due_us - offset_us) * SOUND_RATE_HZ // US :]
        if self._from_us is None:
            self._from_us = offset_us
        self._parts.append(samples)
        self._held += len(samples)
        while self._held >= _CHUNK:
            whole = np.concatenate(self._parts)
            yield self._from_us, whole[:_CHUNK]
            self._from_us += _CHUNK * US // SOUND_RATE_HZ
            self._parts, self._held = [whole[_CHUNK:]], self._held - _CHUNK

    def rest(self) -> Iterator[tuple[int, Samples]]:
        """The last, incomplete chunk."""
        if self._held and self._from_us is not None:
            yield self._from_us, np.concatenate(self._parts)
        self._parts, self._held, self._from_us = [], 0, None

    def _due_us(self) -> int | None:
        return None if self._from_us is None else self._from_us + self._held * US // SOUND_RATE_HZ


class _Resampler:
    """Converts any decoded sound to mono float32 at 16 kHz. The format may change in the middle of a stream."""

    def __init__(self) -> None:
        self._resampler: Any = None
        self._made_for: tuple[object, ...] = ()

    def samples(self, frame: Any) -> Samples:
        """The samples of one decoded frame."""
        import av

        if not _SLOWEST_HZ <= frame.sample_rate <= _FASTEST_HZ:
            raise SourceError(f"its sound has {frame.sample_rate} samples a second: {_SLOWEST_HZ} to {_FASTEST_HZ} are taken")
        kind = (frame.format.name, frame.layout.name, frame.sample_rate)
        if kind != self._made_for:
            self._resampler, self._made_for = av.AudioResampler(format="flt", layout="mono", rate=SOUND_RATE_HZ), kind
        frame.pts = None  # without times: with them, the resampler refuses or fills gaps, depending on its version
        return self._joined(self._resampler.resample(frame))

    def rest(self) -> Samples:
        """The samples that are still in the filter."""
        return self._joined(self._resampler.resample(None)) if self._resampler is not None else np.empty(0, np.float32)

    @staticmethod
    def _joined(frames: list[Any]) -> Samples:
        parts = [frame.to_ndarray().reshape(-1) for frame in frames]
        return np.concatenate(parts).astype(np.float32, copy=False) if parts else np.empty(0, np.float32)


class SoundTrack:
    """The first sound track of a recording. `chunks` yields (offset, samples). Times count from `base_us` of the container."""

    def __init__(self, path: str, *, base_us: int | None = None) -> None:
        """Raises SourceError. Without `base_us`, offsets count from the beginning of the track as its container states it."""
        import av

        self.lost = 0
        """Packets that could not be decoded."""
        path = address(path)
        try:
            self._container = open_container(path)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            why = reason(error, path)
            raise SourceError(f"{path}: its sound cannot be read ({why}); give another file, or repair it with ffmpeg") from None
        self.track = next(iter(self._container.streams.audio), None)
        """None if there is no sound track."""
        begins = self.track.start_time if self.track is not None else None
        self._base_us = base_us if base_us is not None else round((begins or 0) * self.track.time_base * US) if self.track else 0

    @property
    def duration_us(self) -> int | None:
        if self.track is not None and self.track.duration:
            return int(self.track.duration * self.track.time_base * US)
        return int(self._container.duration) if self._container.duration else None

    def chunks(self, after_us: int) -> Iterator[tuple[int, Samples]]:
        """Sound later than `after_us`, in order."""
        if self.track is None:
            return
        self._skip_to(after_us)
        cutter, resampler = _Chunker(), _Resampler()
        for frame in self._frames():
            offset_us = self._offset_us(frame)
            yield from self._later(cutter.add(offset_us, resampler.samples(frame)), after_us)
        yield from self._later(cutter.add(None, resampler.rest()), after_us)
        yield from self._later(cutter.rest(), after_us)

    def _skip_to(self, after_us: int) -> None:
        import av

        if after_us > 0:
            with contextlib.suppress(av.error.FFmpegError):  # no index: read from the start and skip everything up to the offset
                self._container.seek(max(0, self._base_us + after_us - US), any_frame=True)

    @staticmethod
    def _later(chunks: Iterator[tuple[int, Samples]], after_us: int) -> Iterator[tuple[int, Samples]]:
        for offset_us, samples in chunks:
            skip = max(0, -((offset_us - after_us) * SOUND_RATE_HZ // US))
            if skip < len(samples):
                yield offset_us + skip * US // SOUND_RATE_HZ, samples[skip:]

    def _offset_us(self, frame: Any) -> int | None:
        offset_us = None if frame.pts is None else round(frame.pts * frame.time_base * US) - self._base_us
        return offset_us if offset_us is None or abs(offset_us) <= _LONGEST_US else None

    def _frames(self) -> Iterator[Any]:
        """Decoded frames; damaged packets and parts are counted and skipped."""
        import av

        assert self.track is not None
        for _ in range(_BROKEN_STRETCHES):
            try:
                for packet in self._container.demux(self.track):
                    try:
                        yield from packet.decode()
                    except av.error.EOFError:
                        return
                    except av.error.FFmpegError:
                        self.lost += 1
            except av.error.EOFError:
                return
            except av.error.FFmpegError:
                self.lost += 1
                continue
            return


class NoSoundError(SourceError):
    """A live stream that can be opened and has no sound."""


class SoundFile(BaseSource):
    """A recording of sound only: a source without frames."""

    has_sound = True
    blind = "it is a recording of sound: there is nothing to see"

    def __init__(self, path: str, *, stream: str, start_us: int | None = None) -> None:
        self.name = stream
        self.dropped: dict[str, int] = {}
        self._path = path = address(path)
        track = SoundTrack(path)
        if track.track is None:
            raise SourceError(f"{path}: has neither pictures nor sound; give a video, a recording of sound, pictures, a camera or a URL")
        self.duration_us = track.duration_us
        self.t0_us = start_us if start_us is not None else clock.now_us() - (self.duration_us or 0)
        self.identity = identity_of(path, self.duration_us)

    def frames(self) -> Iterator[Frame]:
        """None."""
        return iter(())

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """The sound later than an offset. It continues after `close`, which only ends `frames`."""
        track = SoundTrack(self._path)
        for offset_us, samples in track.chunks(after_us):
            yield Sound(stream=self.name, t_us=self.t0_us + offset_us, offset_us=offset_us, samples=samples)
        if track.lost:
            self.dropped["corrupt"] = track.lost


class Microphone(BaseSource):
    """Live sound: an ALSA device (`alsa:default`, `alsa:hw:1,0`) or the sound of a network stream. A source without frames.

    If it cannot be opened at the start, SourceError is raised. If it is lost later, it is opened again every 5 s, and `deaf` has the
    reason. Offsets are monotonic time since `mono0_us`, so that pictures of a camera and sound of its microphone match.
    """

    live = True
    has_sound = True
    duration_us: int | None = None
    blind = "it is a microphone: there is nothing to see"

    def __init__(self, spec: str, *, stream: str, mono0_us: int | None = None, opener: Callable[[str], Any] | None = None) -> None:
        self.name = stream
        self.dropped: dict[str, int] = {}
        self.deaf = ""
        self._spec = address(spec)
        self._label = str(self._spec)
        self._opener = opener or _open_live
        self._closed = threading.Event()
        self._clock = clock.SteadyClock()
        self.t0_us, now_us, _ = self._clock.now()
        self._mono0_us = now_us if mono0_us is None else mono0_us
        self._container: Any = self._open()

    def frames(self) -> Iterator[Frame]:
        """No frames; it ends only when the source is closed, so that the sound goes on until then."""
        self._closed.wait()
        return iter(())

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """Sound from now on until closed; `after_us` is ignored."""
        del after_us
        while not self._closed.is_set():
            if self._container is None:
                self._reopen()
                continue
            yield from self._connection()
            self._release()
        self._release()

    def close(self) -> None:
        self._closed.set()

    def _connection(self) -> Iterator[Sound]:
        """Sound until the device or stream fails. Its times come from the time of arrival and the number of samples."""
        import av

        cutter, resampler = _Chunker(_LIVE_LATE_US, _LIVE_EARLY_US), _Resampler()
        try:
            for frame in self._container.decode(audio=0):
                samples = resampler.samples(frame)
                came_us = self._clock.now().mono_us - self._mono0_us - len(samples) * US // SOUND_RATE_HZ
                yield from map(self._sound, cutter.add(came_us, samples))
                if self._closed.is_set():
                    break
        except (av.error.FFmpegError, OSError) as error:
            self.deaf = reason(error, self._spec)
        yield from map(self._sound, cutter.rest())

    def _sound(self, chunk: tuple[int, Samples]) -> Sound:
        offset_us, samples = chunk
        stamp = self._clock.now()
        t_us = stamp.t_us - (stamp.mono_us - self._mono0_us - offset_us)
        return Sound(stream=self.name, t_us=t_us, offset_us=offset_us, samples=samples, live=True)

    def _open(self) -> Any:
        import av

        try:
            container = self._opener(self._spec)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            why = reason(error, self._spec)
            raise SourceError(
                f"{self._label}: cannot be opened ({why}); check the name (arecord -L) and that this user is in group audio"
            ) from None
        if not container.streams.audio:
            container.close()
            raise NoSoundError(f"{self._label}: sends no sound")
        self.deaf = ""
        return container

    def _reopen(self) -> None:
        if self._closed.wait(_WAIT_S):
            return
        try:
            self._container = self._open()
        except SourceError as error:
            self.deaf = str(error)

    def _release(self) -> None:
        container, self._container = self._container, None
        if container is not None:
            container.close()


def _open_live(spec: str) -> Any:
    """Opens a microphone through ALSA, or the address of a stream (RTSP over TCP, as for pictures)."""
    if spec.startswith("alsa:"):
        # PyAV contains its own ALSA library, which looks for the device files at the path of its build machine.
        if Path(_ALSA_CONFIG).is_file():
            os.environ.setdefault("ALSA_CONFIG_PATH", _ALSA_CONFIG)
        return open_container(spec.removeprefix("alsa:"), format="alsa", options={"channels": "1"})
    options = {"rtsp_transport": "tcp"} if spec.lower().startswith("rtsp") else {}
    return open_container(spec, options=options, timeout=_TIMEOUT_S)
