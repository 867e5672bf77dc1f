"""A run that a signal ends, in a process of its own: `interrupted.py DIRECTORY SIGNAL` prints its notes, stream and frames as JSON.

Whoever runs tests must not get signals that are meant for what is tested.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from edgemem_vam.dedup import AdaptiveDedup, DedupSettings
from edgemem_vam.events import OtsuEvents

from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera
from edgemem.records import US
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.perceive import JointPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.write import EventDocument

SECONDS, STOP_AT_US = 40, 10 * US


def parts() -> PipelineParts:
    return PipelineParts(
        gates=[], selector=AdaptiveDedup(DedupSettings()), chains=[Chain(OtsuEvents(), [EventDocument()])],
        perceivers=[JointPerceiver(FakeJointEmbedder())],
    )  # fmt: skip


def main() -> None:
    directory, number = Path(sys.argv[1]), int(sys.argv[2])
    before = signal.getsignal(number)
    with Store.open(directory) as store:
        pipeline = Pipeline(SyntheticCamera(seconds=SECONDS), parts(), store)
        report = pipeline.run(lambda offset_us, _: os.kill(os.getpid(), number) if offset_us == STOP_AT_US else None)
    assert signal.getsignal(number) is before
    print(json.dumps([report.notes, report.stream, report.frames_seen]))


if __name__ == "__main__":
    main()
