"""Whether the configured sources can be seen: cameras of this machine by their driver, network cameras by their port."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from edgemem.device.findings import Finding, pwd_name
from edgemem.errors import EdgememError
from edgemem.extend.sources import source_for
from edgemem.secret import reveal
from edgemem.see.sources.spec import DEVICE, NETWORK, scheme_of

if TYPE_CHECKING:
    from edgemem.config import Settings
    from edgemem.extend.plugins import Plugins

_QUERYCAP = 0x80685600
"""VIDIOC_QUERYCAP: _IOR('V', 0, struct v4l2_capability), of linux/videodev2.h."""
_CAPABILITY = struct.Struct("=16s32s32sIII12x")
"""struct v4l2_capability: driver, card, bus, version, capabilities of the whole device, of this node, reserved."""
_CAPTURES, _CAPTURES_PLANES, _HAS_NODE = 0x1, 0x1000, 0x80000000
"""V4L2_CAP_VIDEO_CAPTURE, V4L2_CAP_VIDEO_CAPTURE_MPLANE, V4L2_CAP_DEVICE_CAPS."""
_PORTS = {"rtsp": 554, "rtsps": 322, "rtmp": 1935, "rtmps": 443, "http": 80, "https": 443}
"""Default ports of the schemes that use TCP (IANA)."""
_CONNECT_S = 2.0


class Capability(NamedTuple):
    """What the driver of a video device says. `problem`: why it cannot be used as a camera, "" = it can."""

    card: str
    problem: str
    todo: str = ""


def capability(device: Path) -> Capability:
    """Ask the driver of a video device."""
    if not device.exists():
        return Capability("", "is not there", "check that it is plugged in: ls /dev/video*")
    if not stat.S_ISCHR(device.stat().st_mode):
        return Capability("", "is no device", "name a camera such as /dev/video0")
    try:
        handle = os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        user = pwd_name(os.geteuid())
        return Capability("", "this user may not open it", f"add the user to the group: usermod -aG video {user}, then log in again")
    except OSError as error:
        return Capability("", error.strerror or "cannot be opened", "unplug it and plug it in again; see dmesg")
    try:
        answer = fcntl.ioctl(handle, _QUERYCAP, bytes(_CAPABILITY.size))
    except OSError:
        return Capability("", "is no video device", "name a camera such as /dev/video0")
    finally:
        os.close(handle)
    return decode_capability(answer)


def decode_capability(answer: bytes) -> Capability:
    """The driver's answer to VIDIOC_QUERYCAP, 104 bytes."""
    _, name, _, _, whole, node = _CAPABILITY.unpack(answer)
    card = name.partition(b"\0")[0].decode("utf-8", "replace")
    if not (node if whole & _HAS_NODE else whole) & (_CAPTURES | _CAPTURES_PLANES):
        return Capability(card, "sends no pictures: it is another part of a camera, such as its metadata", "name the camera's first device")
    return Capability(card, "")


def check_cameras(settings: Settings, plugins: Plugins, devices: Path = Path("/dev")) -> list[Finding]:
    """One line for each configured source; where none is configured, the cameras of this machine. `devices`: the folder of the devices."""
    if settings.run.sources:
        return [_source(str(reveal(spec.source)), str(spec.source), plugins) for spec in settings.run.sources]
    found = {path: capability(path) for path in sorted(devices.glob("video*"))}
    usable = [Finding("ok", "camera", f"{path}: {one.card}") for path, one in found.items() if not one.problem]
    if usable:
        return usable
    why = "; ".join(f"{path} {one.problem}" for path, one in found.items()) or "this machine has none"
    return [Finding("note", "camera", why, 'plug one in, or name a network camera: [[run.sources]] source = "rtsp://HOST/PATH"')]


def _source(spec: str, label: str, plugins: Plugins) -> Finding:
    """`spec`: the source with its secrets; `label`: what may be shown of it."""
    try:
        part = source_for(spec, plugins)
    except EdgememError as error:
        return Finding("missing", "camera", str(error).replace(spec, label), "correct run.sources, or wait: the daemon does")
    scheme = scheme_of(spec, {scheme for known in plugins.components("sources").values() for scheme in known.schemes})
    if scheme == DEVICE and "+" not in spec:
        device = Path(f"/dev/video{spec}" if spec.isdecimal() else spec)
        asked = capability(device)
        detail = f"{device}: {asked.problem or asked.card}"
        return Finding("missing" if asked.problem else "ok", "camera", detail, asked.todo)
    if scheme in NETWORK:
        return _network(spec, label, scheme)
    return Finding("ok" if not scheme else "note", "camera", f"{label}: {part}" + ("" if not scheme else ", not checked here"))


def _network(spec: str, label: str, scheme: str) -> Finding:
    try:
        parts = urlsplit(spec)
        host, port = parts.hostname or "", parts.port or _PORTS.get(scheme)
    except ValueError:
        return Finding("missing", "camera", f"{label}: is no address", "write it like rtsp://HOST:554/PATH")
    if not host or port is None:
        return Finding("note", "camera", f"{label}: cannot be checked before it sends")
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError as error:
        why = error.strerror or str(error)
        return Finding("missing", "camera", f"{label}: does not answer ({why})", "check that it is on, its address, and this network")
    return Finding("ok", "camera", f"{label}: answers on port {port}")
