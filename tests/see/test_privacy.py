"""Paused, masked or without consent, nothing is written."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from edgemem import config
from edgemem.errors import UsageError
from edgemem.extend.testing import SyntheticCamera
from edgemem.records import Observation
from edgemem.remember.disk.directory import set_paused
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.perceive import TextPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.privacy import Privacy
from edgemem.see.segment import FixedWindow
from edgemem.see.select import KeepAll


def see(directory, source, reader=None, **settings):
    rules = settings.pop("rules", [])
    with Store.open(directory) as store:
        privacy = Privacy(config.PrivacySettings(**settings), rules, directory, source.name)
        perceivers = [TextPerceiver(reader)] if reader is not None else []
        parts = PipelineParts(selector=KeepAll(), chains=[Chain(FixedWindow())], perceivers=perceivers, privacy=privacy)
        return Pipeline(source, parts, store).run()


def files(directory):
    return {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


class PausedCamera(SyntheticCamera):
    """The memory is paused during a run, and resumed later or not at all."""

    def __init__(self, directory, *, resumes):
        super().__init__(30.0)
        self._directory, self._resumes = directory, resumes
        self.during = []

    def frames(self):
        frames = list(super().frames())
        third = len(frames) // 3
        for number, frame in enumerate(frames):
            if number == third:
                set_paused(self._directory, paused=True)
            if third < number < 2 * third:
                self.during.append(files(self._directory))
            if number == 2 * third and self._resumes:
                set_paused(self._directory, paused=False)
            yield frame


@pytest.mark.parametrize("resumes", [True, False])
def test_paused_not_a_byte_is_written_and_frames_are_counted_as_paused(tmp_path, monkeypatch, resumes):
    monkeypatch.setattr("edgemem.see.commit.COMMIT_S", 0.0)
    camera = PausedCamera(tmp_path / "memory", resumes=resumes)
    report = see(tmp_path / "memory", camera)
    # The frame that was on its way when the pause began may be the last to be written.
    assert len(camera.during) > 3
    assert all(state == camera.during[2] for state in camera.during[3:])
    third = report.frames_seen // 3
    assert third - 4 <= report.dropped["paused"] <= (third + 4 if resumes else 2 * third + 4)  # a few are read ahead
    with Store.open(tmp_path / "memory") as store, store.view() as view:
        assert len(view.moments()) == report.moments_kept < report.frames_seen - third + 5


def test_a_mask_is_black_in_what_is_stored_and_all_else_is_seen(tmp_path):
    camera = SyntheticCamera(2.0)
    see(tmp_path / "memory", camera, masks={"syn*": [(0.5, 0.0, 1.0, 0.5)], camera.name: [(0.0, 0.9, 0.1, 1.0)]})
    with Store.open(tmp_path / "memory") as store, store.view() as view:
        pictures = [cv2.imdecode(np.frombuffer(view.picture(m.id), np.uint8), cv2.IMREAD_COLOR) for m in view.moments()]
    plain = [frame.image for frame in SyntheticCamera(2.0).frames()]
    assert len(pictures) == len(plain)
    for picture, image in zip(pictures, plain, strict=True):
        height, width = image.shape[:2]
        assert picture[int(height * 0.9) + 8 :, : int(width * 0.1) - 8].max() < 12
        left = slice(None, int(height * 0.8)), slice(int(width * 0.15), int(width * 0.45))
        assert abs(picture[left].astype(int) - image[left]).mean() < 8
        assert picture[left].max() > 20


class Room:
    """Names the place of the camera: the bathroom in the second half of the pictures."""

    def __init__(self):
        self._times = 0

    def read(self, _image):
        self._times += 1
        return [Observation(kind="label", name="bathroom" if self._times > 5 else "kitchen", score=0.8)]


def test_a_place_that_is_never_kept_is_not_even_in_a_saved_state(tmp_path):
    rules = [config.KeepRule(keep_days=0, place="Bathroom")]
    report = see(tmp_path / "memory", SyntheticCamera(12.0), Room(), rules=rules)
    assert report.moments_kept == 5
    assert report.dropped["place"] == report.frames_seen - 5
    with Store.open(tmp_path / "memory") as store, store.view() as view:
        assert view.names("label") == {"kitchen": 5}
        (stream,) = view.streams()
        assert b"PNG" not in (store.state(f"see/{stream.name}") or b"")


def test_what_may_not_be_seen_is_refused_before_anything_is_written(tmp_path):
    def privacy(rules=(), **settings):
        return Privacy(config.PrivacySettings(**settings), rules, tmp_path / "memory", "door")

    privacy().require()
    privacy(streams=["d*"]).require()
    with pytest.raises(UsageError, match="consent"):
        privacy(streams=["hall"]).require()
    with pytest.raises(UsageError, match="never kept"):
        privacy(rules=[config.KeepRule(keep_days=0, stream="door")]).require()
    Store.open(tmp_path / "memory").close()
    set_paused(tmp_path / "memory", paused=True)
    with pytest.raises(UsageError, match="memory resume"):
        privacy().require()
    set_paused(tmp_path / "memory", paused=False)
    privacy().require()


@pytest.mark.parametrize(
    "override",
    [
        "privacy.masks={door = [[0.5, 0, 0.2, 1]]}",
        'retention=[{stream = "x", keep_days = -1}]',
        'retention=[{stream = "x"}]',
        "privacy.x=1",
    ],
)
def test_a_wrong_rule_stops_the_start(override):
    with pytest.raises(UsageError):
        config.load(None, [override])


def test_rules_and_masks_are_read_from_settings():
    settings = config.load(None, ['retention=[{stream = "door", keep_days = 7}]', "privacy.masks={door = [[0, 0, 0.2, 1]]}"])
    assert settings.retention[0].keep_days == 7
    assert settings.privacy.masks["door"] == [(0.0, 0.0, 0.2, 1.0)]
