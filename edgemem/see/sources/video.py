"""Video files. Only the frames that the rate needs are decoded. Every frame has its exact presentation time.

A file is read as groups of packets that begin with a key frame. A group in which no frame is wanted is not decoded. If the key frame is
near enough to the wanted time, only the key frame is decoded: 8 to 12 times faster than decoding everything, with one key frame in 50. Else
the group is decoded up to the last wanted frame, without frames to which no other refers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgemem.clock import now_us
from edgemem.errors import SourceError
from edgemem.infer.large_run import LARGE_RUN
from edgemem.records import BEFORE_START_US, MOST_PIXELS, US, Frame, Sound
from edgemem.secret import address
from edgemem.see import pixels
from edgemem.see.sources.base import SIDE_PX, BaseSource
from edgemem.see.sources.container import identity_of, open_container, reason
from edgemem.see.sources.reference_frames import reference_frames

if TYPE_CHECKING:
    from edgemem.records import Image

_KEY_SLACK = 0.25
"""A key frame is used for a wanted time if it is at most this part of a period away."""
_EARLY_US = 2_000
"""Containers round times to a millisecond or a tick: a frame that is early by at most this counts as on time."""
_GROUP_PACKETS = 600
"""Longest group held in memory; a stream without further key frames is decoded in pieces of this length."""
_GROUP_BYTES = 32 << 20
"""And of this size."""
_THREADS_PIXELS = 3 << 20
"""Pixels of the frames that threads of the decoder may hold in addition: each thread holds one. 1080p is decoded by two threads, 4K by one;
more were no faster for a film whose pictures are analysed meanwhile, and a machine with many cores would hold many frames."""
_REFERENCE_BYTES = 40_000_000
"""Where the decoder may have to keep more than this for reference, only key frames are decoded: for 4K in 8 bits more than 3 frames. Speech
and text need all but some 80 MB of the 700 MB that ingest may take (tools/bench/memory_use.py)."""
_MOST_REFERENCE_BYTES = 130_000_000
"""A stream whose key frames cannot be decoded without more than this is refused."""
_MOST_BITS = 48
"""Bits of a pixel where the stream does not say its format."""
_LONGEST_US = 100 * 366 * 86_400 * US
"""A stamp that is further than a century from the first is no time."""
_BROKEN_STRETCHES = 1000
"""If a container is broken in more places than this, the rest of it is not read."""


@dataclass
class _Group:
    """Packets between two key frames; times in microseconds from the stream's start."""

    packets: list[Any]
    start_us: int
    end_us: int
    """Start of the next group, or just after the last packet."""
    key: bool
    """Whether it begins with a key frame, so that it can be decoded alone."""
    last: bool
    """Whether it is the last group."""
    cut: bool
    """Whether the next group needs frames of this one."""


class _Targets:
    """Wanted times that were not served yet. A range, because a gap in the stamps may hold a thousand million of them."""

    def __init__(self, left: range) -> None:
        self.left = left

    def __bool__(self) -> bool:
        return bool(self.left)

    def serve(self, until_us: float) -> bool:
        """Whether a frame that stands for all times up to `until_us` is wanted; these are served then."""
        if not self.left or self.left[0] > until_us:
            return False
        self.left = self.left[int(until_us - self.left[0]) // self.left.step + 1 :]
        return True


class NoPictureTrackError(SourceError):
    """A recording without pictures; it may have sound."""


class VideoFile(BaseSource):
    """A recorded video (or the URL of one) at `rate_fps`. Damaged parts are skipped and counted in `dropped`."""

    def __init__(self, path: str, *, rate_fps: float, stream: str, start_us: int | None = None, side_px: int = SIDE_PX) -> None:
        self.name = stream
        self.dropped: dict[str, int] = {}
        self._path = path = address(path)
        self.set_rate(rate_fps)
        self._side_px = side_px
        self._container, self._video = _open(path)
        self.has_sound = bool(self._container.streams.audio)
        self._reference_frames = reference_frames(self._video)
        _require_few(path, self._video, self._reference_frames)
        self._reformatter: Any = None
        self.duration_us = self._length_us()
        self.t0_us = start_us if start_us is not None else now_us() - (self.duration_us or 0)
        self.identity = identity_of(path, self.duration_us)
        self._after_us = -1
        self._frame_us = round(US / (self._video.average_rate or 25))
        self._head = next(self._stretch(), None)
        self._base_us = (self._stamp_us(self._head) if self._head is not None else None) or 0
        self._end_us = 0
        self._closed = False

    def _length_us(self) -> int | None:
        if self._video.duration:
            return int(self._video.duration * self._video.time_base * US)
        return int(self._container.duration) if self._container.duration else None

    def set_rate(self, rate_fps: float) -> None:
        """Takes effect with the next group of packets."""
        self._period_us = max(1, round(US / rate_fps))

    def skip_to(self, offset_us: int) -> None:
        import av

        self._after_us = offset_us
        if offset_us > 0:
            with contextlib.suppress(av.error.FFmpegError):  # no index: read from the start and skip everything up to the offset
                self._container.seek(int((self._base_us + offset_us) / US / self._video.time_base), stream=self._video)
                self._head = None

    def frames(self) -> Iterator[Frame]:
        due_us = (self._after_us // self._period_us + 1) * self._period_us
        seq = due_us // self._period_us
        found = False
        for group in self._groups():
            wanted = self._wanted(group, due_us)
            targets = _Targets(wanted)
            for offset_us, image in self._key_image(group, targets) if self._only_keys() else self._decode(group, targets):
                if offset_us > self._after_us:
                    found = True
                    yield Frame(stream=self.name, seq=seq, t_us=self.t0_us + offset_us, offset_us=offset_us, image=image)
                    seq += 1
            due_us = targets.left[0] if targets else due_us + len(wanted) * self._period_us
            if self._closed:
                return
        if not found and self._after_us < 0:
            raise SourceError(f"{self._path}: no picture could be decoded; it is empty or damaged from the start")
        self._count_missing()

    def _wanted(self, group: _Group, due_us: int) -> range:
        """Wanted times from `due_us` on that this group must serve."""
        wanted = range(due_us, max(due_us, group.end_us), self._period_us)
        if wanted and not group.last and not group.cut:
            wait_us = group.end_us - wanted[-1]
            if wait_us <= self._period_us * _KEY_SLACK and wait_us < wanted[-1] - group.start_us:
                return wanted[:-1]  # the next group's key frame is nearer
        return wanted

    def _key_image(self, group: _Group, targets: _Targets) -> Iterator[tuple[int, Image]]:
        """As `_decode`, of the key frame alone. Its decoder is closed again: what it kept would stay beside the models."""
        if not targets or not group.key:
            return
        with LARGE_RUN:
            try:
                container, video = _open(self._path)
            except SourceError:
                self._count("corrupt")
                return
            with container:
                pictures = [*self._pictures(video, group.packets[0]), *self._pictures(video, None)]
                image = self._image(pictures[0]) if pictures else None
                offset_us = self._offset_us(pictures.pop(0)) if pictures else None
        if image is not None and offset_us is not None and targets.serve(offset_us + round(self._period_us * _KEY_SLACK)):
            yield offset_us, image
            self._count("too large", min(len(targets.left), len(group.packets) - 1))

    def _decode(self, group: _Group, targets: _Targets) -> Iterator[tuple[int, Image]]:
        """Frames for the targets, removing each that was served; what is left waits for the next group's first frame."""
        if not targets and not group.cut:
            return
        codec = self._video.codec_context
        if group.key:
            codec.flush_buffers()
        near_us = group.start_us + self._period_us * _KEY_SLACK
        only_key = group.key and not group.cut and targets.left[-1] <= near_us
        codec.skip_frame = "DEFAULT" if only_key or group.last or group.cut else "NONREF"
        packets = [*(group.packets[:1] if only_key else group.packets), *([] if group.cut else [None])]
        for packet in packets:
            for picture in self._pictures(self._video, packet):
                offset_us = self._offset_us(picture)
                if offset_us is None or not targets:
                    continue
                early_us = self._period_us * _KEY_SLACK if group.key and offset_us == group.start_us else _EARLY_US
                if targets.serve(offset_us + early_us):
                    yield offset_us, self._image(picture)
            if not targets and not group.cut:
                return

    def _only_keys(self) -> bool:
        return _frame_bytes(self._video) * self._reference_frames > _REFERENCE_BYTES

    def _pictures(self, video: Any, packet: Any) -> list[Any]:
        import av

        try:
            pictures = video.codec_context.decode(packet)
        except av.error.EOFError:
            return []
        except av.error.FFmpegError:
            self._count("corrupt")
            return []
        whole = [picture for picture in pictures if not picture.is_corrupt]
        self._count("corrupt", len(pictures) - len(whole))
        return whole

    def _groups(self) -> Iterator[_Group]:
        packets: list[Any] = []
        start_us = held_bytes = 0
        key = True
        for packet, t_us in self._timed_packets():
            if packets and (packet.is_keyframe or len(packets) >= _GROUP_PACKETS or held_bytes >= _GROUP_BYTES):
                yield _Group(packets, start_us, t_us, key, last=False, cut=not packet.is_keyframe)
                packets, held_bytes = [], 0
            if not packets:
                start_us, key = t_us, packet.is_keyframe
            packets.append(packet)
            held_bytes += packet.size
        if packets:
            yield _Group(packets, start_us, self._end_us + 1, key, last=True, cut=False)

    def _timed_packets(self) -> Iterator[tuple[Any, int]]:
        """Packets with their offset. A packet without a time (raw streams) is one frame later than the previous packet."""
        offset_us = -self._frame_us
        for packet in self._packets():
            if packet.size == 0:
                continue
            stamp_us = self._stamp_us(packet)
            if stamp_us is not None and abs(stamp_us - self._base_us) > _LONGEST_US:
                self._count("corrupt")
                continue
            offset_us = stamp_us - self._base_us if stamp_us is not None else offset_us + self._frame_us
            self._end_us = max(self._end_us, offset_us)
            yield packet, offset_us

    def _stamp_us(self, packet: Any) -> int | None:
        stamp = packet.pts if packet.pts is not None else packet.dts
        return None if stamp is None else round(stamp * self._video.time_base * US)

    def _packets(self) -> Iterator[Any]:
        """All packets; broken parts are counted and skipped."""
        if self._head is not None:
            yield self._head
        for _ in range(_BROKEN_STRETCHES):
            if (yield from self._stretch()):
                return
            self._count("corrupt")

    def _stretch(self) -> Generator[Any, None, bool]:
        """Packets up to the end of the file (returns True) or to a broken place (returns False)."""
        import av

        try:
            for packet in self._container.demux(self._video):
                yield packet
                if self._closed:
                    break
        except av.error.EOFError:
            return True
        except av.error.FFmpegError:
            return False
        return True

    def _offset_us(self, picture: Any) -> int | None:
        return None if picture.pts is None else round(picture.pts * self._video.time_base * US) - self._base_us

    def _image(self, picture: Any) -> Image:
        """BGR, upright, with square pixels, at most `side_px`."""
        if self._reformatter is None:
            from av.video.reformatter import VideoReformatter

            self._reformatter = VideoReformatter()
        aspect = float(self._video.sample_aspect_ratio or 1) or 1.0
        width, height = pixels.fitted(max(1, round(picture.width * aspect)), picture.height, self._side_px)
        image = self._reformatter.reformat(picture, width, height, "bgr24", interpolation="AREA").to_ndarray()
        return pixels.rotated(image, picture.rotation)

    def _count(self, reason: str, n: int = 1) -> None:
        if n:
            self.dropped[reason] = self.dropped.get(reason, 0) + n

    def _count_missing(self) -> None:
        """A file that is shorter than its stated length has lost its end: count the lost frames at the rate."""
        missing_us = (self.duration_us or 0) - self._end_us
        if missing_us > max(2 * self._period_us, 2 * US):
            self._count("truncated", missing_us // self._period_us)

    def sounds(self, after_us: int = BEFORE_START_US) -> Iterator[Sound]:
        """The sound later than an offset; nothing if there is no sound track. Offsets count from the first picture.

        It is read through a separate file handle: `close` ends the pictures, but not the sound, which may still be in use.
        """
        from edgemem.see.sources.sound import SoundTrack

        for offset_us, samples in SoundTrack(self._path, base_us=self._base_us).chunks(after_us):
            yield Sound(stream=self.name, t_us=self.t0_us + offset_us, offset_us=offset_us, samples=samples)

    def close(self) -> None:
        self._closed = True


def _require_pixels(path: str, width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise SourceError(
            f"{path}: its pictures have {width} x {height} pixels, at most {MOST_PIXELS // 10**6} megapixels are taken:"
            " make them smaller with ffmpeg"
        )


def _require_few(path: str, video: Any, frames: int) -> None:
    """A decoder of H.265 invents the frames that a key frame names, so that even key frames cost all of them."""
    if video.codec_context.name == "hevc" and _frame_bytes(video) * frames > _MOST_REFERENCE_BYTES:
        size = f"{video.codec_context.width} x {video.codec_context.height}"
        raise SourceError(
            f"{path}: its decoder has to keep {frames} pictures of {size} for reference, {_frame_bytes(video) * frames // 10**6} MB;"
            f" at most {_MOST_REFERENCE_BYTES // 10**6} MB are taken: encode it anew with ffmpeg"
        )


def _open(path: str) -> tuple[Any, Any]:
    import av

    try:
        container = open_container(path)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        why = reason(error, path)
        raise SourceError(f"{path}: not a video that can be read ({why}); give another file, or repair it with ffmpeg") from None
    if not container.streams.video:
        container.close()
        raise NoPictureTrackError(f"{path}: has no picture track; give a video, a folder of pictures, a camera or a URL")
    video = container.streams.video[0]
    _require_pixels(path, video.codec_context.width, video.codec_context.height)
    video.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
    video.thread_type = "AUTO"
    video.thread_count = threads(_pixels(video), os.cpu_count() or 1)
    return container, video


def threads(frame_pixels: int, cores: int) -> int:
    """How many threads decode frames of this size."""
    return min(cores, 1 + _THREADS_PIXELS // max(1, frame_pixels))


def _frame_bytes(video: Any) -> int:
    """Of a frame as the decoder keeps it."""
    form = video.codec_context.format
    return _pixels(video) * (form.padded_bits_per_pixel if form is not None else _MOST_BITS) // 8


def _pixels(video: Any) -> int:
    """Of a frame; they may change within a stream."""
    return int(video.codec_context.width * video.codec_context.height)
