"""Picture arithmetic for this package. Pictures are uint8 [height, width, 3] in BGR order."""

from __future__ import annotations

import io
import struct
import warnings
from typing import TYPE_CHECKING

import numpy as np

from edgemem.errors import SourceError
from edgemem.records import MOST_PIXELS, Image

if TYPE_CHECKING:
    import numpy.typing as npt

    Gray = npt.NDArray[np.uint8]
    """A grey picture: uint8 [height, width]."""
    Histogram = npt.NDArray[np.float32]
    """Bin counts: float32 [3, 256], one row per channel."""

_NO_PICTURE = "not a picture that can be read; use JPEG, PNG, WebP, TIFF or BMP"
TILE_PX = 20
"""Side of the full-resolution tiles on which sharpness is measured."""
TILES = (9, 16)
"""Rows and columns of tiles: 9 x 16 x 20 x 20 = 57,600 pixels, as many as the 320 x 180 copy has."""


def fitted(width: int, height: int, side_px: int) -> tuple[int, int]:
    """Width and height with the longer side at most `side_px`; never larger than before, never less than one pixel."""
    longer = max(width, height)
    if longer <= side_px:
        return width, height
    return max(1, round(width * side_px / longer)), max(1, round(height * side_px / longer))


def shrink(image: Image, side_px: int, *, smooth: bool = False) -> Image:
    """A copy whose longer side is at most `side_px`. `smooth` averages all pixels (5 times slower at 1080p), else only the nearest four."""
    import cv2

    height, width = image.shape[:2]
    size = fitted(width, height, side_px)
    if size == (width, height):
        return image
    resized: Image = cv2.resize(image, size, interpolation=cv2.INTER_AREA if smooth else cv2.INTER_LINEAR)
    return resized


def to_gray(image: Image) -> Gray:
    """Luma of a picture."""
    import cv2

    gray: Gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return gray


def thumbnail(gray: Gray, side_px: int) -> Gray:
    """A copy of `side_px` x `side_px` for SSIM; the aspect ratio is not kept."""
    import cv2

    small: Gray = cv2.resize(gray, (side_px, side_px), interpolation=cv2.INTER_AREA)
    return small


def laplacian_variance(gray: Gray) -> float:
    """Sharpness of a whole picture: variance of the Laplacian (VAM eq. 1)."""
    import cv2

    _, deviation = cv2.meanStdDev(cv2.Laplacian(gray, cv2.CV_16S))
    return float(deviation[0][0]) ** 2


def sharpness(image: Image) -> float:
    """Variance of the Laplacian, estimated on 144 full-resolution tiles spread over the picture.

    A small copy does not show blur: an edge that is 3 pixels wide at 1080p is sharp at 320 px. Tiles keep the scale, so the threshold of
    the paper is valid for them; `tools/bench/gates.py` shows how often the decision equals that for the whole picture.
    """
    laplacian = _laplacian_of_tiles(image)
    return laplacian_variance(to_gray(image)) if laplacian is None else float(laplacian.std()) ** 2


def sharpest_part(image: Image) -> float:
    """The same of the tile that is sharpest: high where a sharp thing stands before something plain, low where everything is blurred."""
    laplacian = _laplacian_of_tiles(image)
    return laplacian_variance(to_gray(image)) if laplacian is None else float(laplacian.std(axis=(1, 2)).max()) ** 2


def _laplacian_of_tiles(image: Image) -> npt.NDArray[np.float32] | None:
    """float32 [tiles, 18, 18]; None for a picture that is smaller than its tiles."""
    import cv2

    height, width = image.shape[:2]
    rows, columns = TILES
    if height < rows * TILE_PX or width < columns * TILE_PX:
        return None
    image = np.ascontiguousarray(image)
    step_y, step_x = (height - TILE_PX) // (rows - 1), (width - TILE_PX) // (columns - 1)
    across_y, across_x, across_channel = image.strides
    tiles = np.lib.stride_tricks.as_strided(
        image,
        shape=(rows, columns, TILE_PX, TILE_PX, 3),
        strides=(step_y * across_y, step_x * across_x, across_y, across_x, across_channel),
        writeable=False,
    )
    column = to_gray(np.ascontiguousarray(tiles).reshape(-1, TILE_PX, 3))
    laplacian = cv2.Laplacian(column, cv2.CV_16S).reshape(-1, TILE_PX, TILE_PX)[:, 1:-1, 1:-1]  # edge pixels mix two tiles
    found: npt.NDArray[np.float32] = laplacian.astype(np.float32)
    return found


def brightness(gray: Gray) -> tuple[float, float]:
    """Mean and standard deviation of luma, 0..255."""
    import cv2

    mean, deviation = cv2.meanStdDev(gray)
    return float(mean[0][0]), float(deviation[0][0])


def mean_difference(a: Gray, b: Gray) -> float:
    """Mean absolute difference of two grey pictures of the same shape, 0..255."""
    import cv2

    return float(cv2.norm(a, b, cv2.NORM_L1)) / a.size


def block_difference(a: Gray, b: Gray, block_px: int) -> npt.NDArray[np.float32]:
    """Mean absolute difference per block of about `block_px` x `block_px`: float32 [rows, columns], 0..255."""
    import cv2

    height, width = a.shape
    size = (max(1, width // block_px), max(1, height // block_px))
    blocks: npt.NDArray[np.float32] = cv2.resize(cv2.absdiff(a, b).astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return blocks


def histogram(image: Image) -> Histogram:
    """256 bins for each of the three channels."""
    import cv2

    return np.stack([cv2.calcHist([image], [channel], None, [256], [0, 256]).ravel() for channel in range(3)])


def histogram_correlation(a: Histogram, b: Histogram) -> float:
    """Mean over the channels of the correlation of two histograms, -1..1."""
    import cv2

    return float(np.mean([cv2.compareHist(x, y, cv2.HISTCMP_CORREL) for x, y in zip(a, b, strict=True)]))


def ssim(a: Gray, b: Gray) -> float:
    """Mean structural similarity, -1..1, with an 11 x 11 Gaussian of sigma 1.5 (Wang et al. 2004, eq. 13)."""
    import cv2

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    x, y = a.astype(np.float32), b.astype(np.float32)

    def smooth(image: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        smoothed: npt.NDArray[np.float32] = cv2.GaussianBlur(image, (11, 11), 1.5)
        return smoothed

    mean_x, mean_y = smooth(x), smooth(y)
    var_x, var_y, covariance = smooth(x * x) - mean_x**2, smooth(y * y) - mean_y**2, smooth(x * y) - mean_x * mean_y
    similarity = (2 * mean_x * mean_y + c1) * (2 * covariance + c2) / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))
    return float(similarity.mean())


def rotated(image: Image, degrees: int) -> Image:
    """Turned counter-clockwise by a multiple of 90 degrees."""
    turns = round(degrees / 90) % 4
    return np.ascontiguousarray(np.rot90(image, turns)) if turns else image


def encode_jpeg(image: Image, quality: int) -> bytes:
    """JPEG with 4:2:0 chroma."""
    import simplejpeg

    return bytes(simplejpeg.encode_jpeg(np.ascontiguousarray(image), quality=quality, colorspace="BGR", colorsubsampling="420"))


def encode_png(image: Image | Gray) -> bytes:
    """Lossless; fast to encode, not the smallest file."""
    import cv2

    return bytes(cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1])


def decode_gray(png: bytes) -> Gray:
    """A grey picture of `encode_png`. Raises ValueError."""
    import cv2

    gray = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_GRAYSCALE)
    if gray is None:
        raise ValueError("not a PNG of a grey picture")
    return np.asarray(gray, np.uint8)


def extent(data: bytes) -> tuple[int, int]:
    """Width and height that the header of a picture file tells, (0, 0) where it is none of the kinds that are read. Decodes nothing."""
    import io
    import warnings

    from PIL import Image as Files

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Files.DecompressionBombWarning)  # only the header is read
            with Files.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP", "TIFF", "BMP")) as file:
                width, height = file.size
                return int(width), int(height)
    except (OSError, ValueError, SyntaxError, Files.DecompressionBombError):
        return 0, 0


def decode(data: bytes, side_px: int = 0) -> Image:
    """The pixels of a picture file, rotated as its EXIF says, at most `side_px` on the longer side (0 = unchanged).

    A JPEG that is far too large is shrunk by the decoder, so that 12,000 px cost no more memory than 4,000. Raises SourceError, for
    one with more than `MOST_PIXELS` before it is decoded (TooManyPixelsError).
    """
    import cv2

    _require_pixels(data, side_px)
    buffer = np.frombuffer(data, np.uint8)
    try:
        image = cv2.imdecode(buffer, _reduction(data, side_px)) if buffer.size else None
    except cv2.error:
        image = None
    if image is None:
        raise SourceError(_NO_PICTURE)
    found: Image = image
    return shrink(found, side_px, smooth=True) if side_px else found


class TooManyPixelsError(SourceError):
    """A picture that would take too much memory."""


def _require_pixels(data: bytes, side_px: int) -> None:
    """Refuse by its header what would be decoded to more than `MOST_PIXELS`. Raises SourceError."""
    frame = _jpeg_frame(data)
    if frame is None:
        size, held = _size_of(data), 1
    else:
        size = frame[:2]
        # Of a progressive JPEG all coefficients are held, whatever becomes of it.
        held = 1 if frame[2] else _reduced(size, side_px) ** 2
    if size[0] * size[1] > MOST_PIXELS * held:
        raise TooManyPixelsError(
            f"it has {size[0]} x {size[1]} pixels, more than the {MOST_PIXELS * held // 10**6} megapixels that are decoded"
        )


def _size_of(data: bytes) -> tuple[int, int]:
    """Width and height by the header, or 0 x 0 where it is for the decoder to refuse."""
    from PIL import Image as Pictures

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Pictures.DecompressionBombWarning)
            with Pictures.open(io.BytesIO(data), formats=("PNG", "WEBP", "TIFF", "BMP")) as picture:
                width, height = picture.size
                return int(width), int(height)
    except Pictures.DecompressionBombError as error:
        raise TooManyPixelsError(str(error).split("pixels")[0] + "pixels: it is not decoded") from None
    except (OSError, ValueError, SyntaxError, KeyError, struct.error) as error:
        raise SourceError(f"{_NO_PICTURE} ({type(error).__name__})") from None


def _jpeg_frame(data: bytes) -> tuple[int, int, bool] | None:
    """Width, height and whether it is progressive, from the frame header (ITU T.81, B.2.2); None for what is no JPEG."""
    if data[:3] != b"\xff\xd8\xff":
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height, marker not in {0xC0, 0xC1}
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0, False


def _reduced(size: tuple[int, int], side_px: int) -> int:
    """By how much the decoder makes a JPEG smaller so that the longer side stays at least `side_px`: 1, 2, 4 or 8."""
    times = max(size) // side_px if side_px else 1
    return next((factor for factor in (8, 4, 2) if times >= factor), 1)


def _reduction(data: bytes, side_px: int) -> int:
    """OpenCV's flag for decoding at 1/1 .. 1/8 so that the longer side stays at least `side_px`."""
    import cv2

    flags = {8: cv2.IMREAD_REDUCED_COLOR_8, 4: cv2.IMREAD_REDUCED_COLOR_4, 2: cv2.IMREAD_REDUCED_COLOR_2, 1: cv2.IMREAD_COLOR}
    frame = _jpeg_frame(data)
    return int(flags[_reduced(frame[:2], side_px) if frame else 1])
