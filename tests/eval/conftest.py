"""The evaluation scripts are not installed: their folder is added to the path, and their media are drawn here, not fetched."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "eval"))


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """A catalogue of drawn pictures, in the cache of the real media."""
    import av
    import cv2
    import media
    import signs

    patch = pytest.MonkeyPatch()
    patch.setenv("EDGEMEM_HOME", str(tmp_path_factory.mktemp("home")))
    patch.setattr(media, "FONTS", (("pillow", "built in"),))
    patch.setattr(signs, "FONTS", (("pillow", "built in"),))
    items = [media.Item("object", "stamps", f"{name}.png", colour, (name, f"my {name}"), (kind,)) for name, colour, kind in OBJECTS]
    items += [media.Item("photo", "skimage", f"{name}.png", "", (name,), ()) for name in ("portrait", "skyline", "beach ball")]
    items += [
        media.Item("background", "mate", f"{name}.png", "", (name,), ()) for name in ("meadow", "harbour", "desert", "attic", "cellar")
    ]
    items += [media.Item("clip", "skvideo", "juggler.mp4", "", ("juggler",), ("person",))]
    draw = np.random.default_rng(5)
    for item in items:
        path = media.path_of(item.source, item.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = cv2.resize(draw.integers(30, 255, (6, 8, 4), dtype=np.uint8), (160, 120), interpolation=cv2.INTER_CUBIC)
        if item.role == "clip":
            with av.open(str(path), "w") as container:
                stream = container.add_stream("libx264", rate=25)
                stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
                for _ in range(30):
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(picture[..., :3].copy(), format="bgr24")))
                container.mux(stream.encode())
        else:
            cv2.imwrite(str(path), picture if item.role == "object" else picture[..., :3])
    yield items
    patch.undo()


OBJECTS = [
    ("mug", "white", "dishes"), ("kettle", "", "dishes"), ("hammer", "", "tool"), ("saw", "", "tool"), ("drum", "red", "instrument"),
    ("violin", "", "instrument"), ("bear", "brown", "animal"), ("owl", "white", "animal"), ("pear", "green", "fruit"),
    ("lemon", "yellow", "fruit"),
]  # fmt: skip
