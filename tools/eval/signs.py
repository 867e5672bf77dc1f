"""Signs with text: their words (seeded), their look, and questions about them."""

import random
from typing import Any

import msgspec
import numpy as np
from media import FONTS, path_of

Image = np.ndarray[Any, np.dtype[np.uint8]]

BOARDS = {  # board colour name: (board RGB, ink RGB)
    "green": ((20, 100, 50), (250, 250, 245)),
    "blue": ((25, 60, 150), (250, 250, 250)),
    "red": ((175, 25, 30), (255, 250, 240)),
    "yellow": ((245, 205, 40), (20, 20, 20)),
    "white": ((245, 245, 240), (25, 25, 30)),
    "black": ((25, 25, 28), (240, 240, 235)),
}
FIRST = [
    "Priya Nair",
    "Elena Fischer",
    "Tom Okafor",
    "Marta Silva",
    "Jonas Weber",
    "Aisha Rahman",
    "Li Chen",
    "Grace Murphy",
    "Pavel Novak",
    "Ines Moreau",
]
SHOPS = [
    "Marlow Bakery",
    "Corner Books",
    "Blue Harbour Cafe",
    "Fenwick Hardware",
    "Lotus Pharmacy",
    "Pixel Repairs",
    "Olive Grocery",
    "Velvet Tailors",
]
ROOMS = ["Kitchen", "Library", "Meeting Room", "Laboratory", "Workshop", "Reception", "Canteen", "Archive", "Server Room", "Garage"]
DISHES = ["Espresso", "Tomato Soup", "Cheese Toast", "Green Tea", "Apple Cake", "Lentil Stew"]
STOPS = ["Harbour", "Central Station", "Airport", "University", "Old Town", "Stadium"]
EVENTS = ["Jazz Night", "Flea Market", "Poetry Slam", "Chess Tournament", "Open Day", "Science Fair"]
NOTICES = [
    "Lift out of order",
    "Wet paint",
    "Beware of the dog",
    "Staff only",
    "Mind the step",
    "No bicycles",
    "Please ring the bell",
    "Emergency exit",
]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "September", "October", "November"]


class Sign(msgspec.Struct, frozen=True):
    """A rendered sign: its lines, its board colour, and questions whose answer is on it.

    `place`: whether the sign names the place. `asks` pairs a question with the words that answer it.
    """

    kind: str
    lines: tuple[str, ...]
    colour: str
    place: bool
    asks: tuple[tuple[str, str], ...]


def make_sign(rng: random.Random, place: bool) -> Sign:
    """A sign with new text; with `place`, one that names a room or a shop."""
    kind = rng.choice(["room", "shop", "numbered"] if place else ["price", "bus", "badge", "notice", "event", "rent", "parcel", "wifi"])
    lines, asks = _TEXTS[kind](rng)
    return Sign(kind, lines, rng.choice(list(BOARDS)), place, asks)


Text = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


def _room(rng: random.Random) -> Text:
    room = rng.choice(ROOMS)
    return (room.upper(),), ((f"Was there a sign for the {room.lower()}, and what did it say?", room),)


def _numbered(rng: random.Random) -> Text:
    number, who = str(rng.randint(101, 499)), rng.choice(FIRST)
    return (f"ROOM {number}", who), (
        (f"Whose name is on the door of room {number}?", who),
        (f"Who works in room {number}?", who),
        (f"What is the room number of {who}?", number),
    )


def _shop(rng: random.Random) -> Text:
    shop, opens, shuts = rng.choice(SHOPS), rng.randint(7, 10), rng.randint(17, 21)
    return (shop.upper(), f"Open {opens}:00 - {shuts}:30"), (
        (f"What are the opening hours of {shop}?", f"{shuts}:30"),
        (f"When does {shop} close?", f"{shuts}:30"),
    )


def _price(rng: random.Random) -> Text:
    dish, price = rng.choice(DISHES), f"{rng.randint(2, 11)}.{rng.choice(['20', '50', '80', '90'])}"
    return ("TODAY", f"{dish} {price}"), ((f"How much was the {dish.lower()}?", price), (f"What does the {dish.lower()} cost?", price))


def _bus(rng: random.Random) -> Text:
    line, stop = str(rng.randint(11, 98)), rng.choice(STOPS)
    at = f"{rng.randint(8, 21)}:{rng.randint(10, 59)}"
    return (f"BUS {line}", stop, f"Departs {at}"), (
        (f"Which bus goes to {stop}?", line),
        (f"When does the bus to {stop} leave?", at),
        (f"Where does bus {line} go?", stop),
    )


def _badge(rng: random.Random) -> Text:
    who = rng.choice(FIRST)
    return ("HELLO", "my name is", who), (("What name was on the name badge?", who), ("Who introduced themselves with a name badge?", who))


def _notice(rng: random.Random) -> Text:
    notice = rng.choice(NOTICES)
    return (notice.upper(),), ((f"What did the notice about the {notice.lower().split()[-1]} say?", notice),)


def _event(rng: random.Random) -> Text:
    event, day = rng.choice(EVENTS), f"{rng.randint(2, 28)} {rng.choice(MONTHS)}"
    return (event.upper(), day), ((f"On which date is the {event.lower()}?", day), (f"When is the {event.lower()}?", day))


def _rent(rng: random.Random) -> Text:
    phone = f"555-{rng.randint(1000, 9999)}"
    return ("FOR RENT", phone), (
        ("What is the phone number on the rent sign?", phone),
        ("Which number should I call for the place to rent?", phone),
    )


def _parcel(rng: random.Random) -> Text:
    who, home = rng.choice(FIRST), f"{rng.randint(2, 98)} {rng.choice(['Mill Lane', 'Station Road', 'Park Avenue', 'River Street'])}"
    return (f"To: {who}", home), (("Who is the parcel addressed to?", who), (f"What is the address of {who}?", home))


def _wifi(rng: random.Random) -> Text:
    word = f"{rng.choice(['maple', 'tiger', 'cobalt', 'lemon', 'rocket'])}-{rng.randint(1000, 9999)}"
    return ("WiFi GuestNet", f"Password {word}"), (("What is the wifi password?", word), ("What was the password for GuestNet?", word))


_TEXTS = {
    "room": _room, "numbered": _numbered, "shop": _shop, "price": _price, "bus": _bus, "badge": _badge,
    "notice": _notice, "event": _event, "rent": _rent, "parcel": _parcel, "wifi": _wifi,
}  # fmt: skip


def render(sign: Sign, width_px: int, height_px: int, rng: random.Random) -> Image:
    """The sign as BGRA, at most `width_px` x `height_px`, tilted in perspective with feathered edges."""
    import cv2
    from PIL import Image as Pictures
    from PIL import ImageDraw, ImageFont

    board, ink = BOARDS[sign.colour]
    source, file = rng.choice(FONTS)
    font = ImageFont.load_default(96) if source == "pillow" else ImageFont.truetype(str(path_of(source, file)), 96)
    boxes = [font.getbbox(line) for line in sign.lines]
    line_px, pad = 128, 70
    size = (int(max(box[2] for box in boxes)) + 2 * pad, line_px * len(sign.lines) + 2 * pad)
    picture = Pictures.new("RGB", size, board)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((14, 14, size[0] - 15, size[1] - 15), outline=ink, width=6)
    for row, (line, box) in enumerate(zip(sign.lines, boxes, strict=False)):
        draw.text(((size[0] - box[2]) / 2, pad + row * line_px), line, font=font, fill=ink)
    flat = np.dstack([np.asarray(picture)[..., ::-1], np.full(size[::-1], 255, np.uint8)])

    scale = min(width_px / size[0], height_px / size[1])
    wide, high = int(size[0] * scale), int(size[1] * scale)
    flat = cv2.resize(flat, (wide, high), interpolation=cv2.INTER_AREA)
    lean = [(rng.uniform(0, 0.06) * wide, rng.uniform(0, 0.09) * high) for _ in range(4)]
    corners = np.array([(0, 0), (wide, 0), (wide, high), (0, high)], np.float32)
    inward = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)], np.float32)
    tilt = cv2.getPerspectiveTransform(corners, corners + inward * np.array(lean, np.float32))
    return np.asarray(cv2.warpPerspective(flat, tilt, (wide, high), flags=cv2.INTER_AREA), np.uint8)
