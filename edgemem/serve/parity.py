"""Compares runtimes on real inputs: pictures, sound and texts go through the decoder of a card, and its model runs on both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from edgemem.errors import EngineError, UsageError, nearest
from edgemem.extend.environment import Environment
from edgemem.extend.sources import open_source
from edgemem.infer.card import EngineCard
from edgemem.infer.engines import Engines
from edgemem.infer.fetch import installed
from edgemem.infer.parity import ModelParity, Pair
from edgemem.infer.roles import Engine
from edgemem.records import SOUND_RATE_HZ, Image, Record, Vector

if TYPE_CHECKING:
    from edgemem.see.sources.base import Source

MOST_PICTURES = 16
SOUND_S = 20
"""So much sound of each sample is used."""
TEXTS = (
    "a cup of coffee", "where did I leave my keys?", "A man on a bicycle passes a parked car.", "cat", "the sign says platform 7",
    "two people talk in a kitchen while it rains outside", "Which of these did I see first: the motorbike or the rocket?",
    "At 15:30 a person in a red jacket put a parcel on the bench in front of the house and went away without ringing the bell.",
)  # fmt: skip
"""Texts of different lengths for models that read."""


@dataclass(frozen=True)
class Samples:
    """Real inputs."""

    images: Sequence[Image]
    sounds: Sequence[Vector]
    """float32 at 16 kHz."""


class NoSampleError(EngineError):
    """The samples have nothing for a role."""


class CardParity(Record, frozen=True):
    """The comparison of the models of one card."""

    card: str
    variant: str
    """The card whose files were tested."""
    runtime: str
    against: str
    models: tuple[ModelParity, ...] = ()
    problem: str = ""
    """Why there is no comparison, or what is wrong with it; empty if all is well."""
    untested: str = ""
    """What the samples lack for a comparison."""


def read_samples(specs: Sequence[str], environment: Environment) -> Samples:
    """Pictures and sound of sources (files, folders), evenly spread. Raises SourceError if one cannot be read."""
    images: list[Image] = []
    sounds: list[Vector] = []
    for spec in specs:
        with closing(open_source(spec, rate_fps=1.0, plugins=environment.plugins)) as source:
            images += [np.ascontiguousarray(frame.image) for frame in source.frames()]
        if source.has_sound:
            with closing(open_source(spec, rate_fps=1.0, plugins=environment.plugins)) as source:
                sounds.append(_sound(source))
    spread = np.linspace(0, len(images) - 1, min(len(images), MOST_PICTURES)).round().astype(int) if images else []
    return Samples([images[index] for index in spread], sounds)


def _sound(source: Source) -> Vector:
    pieces, count = [], 0
    for sound in source.sounds():
        pieces.append(np.asarray(sound.samples, np.float32))
        count += len(pieces[-1])
        if count >= SOUND_S * SOUND_RATE_HZ:
            break
    return np.concatenate(pieces)[: SOUND_S * SOUND_RATE_HZ] if pieces else np.empty(0, np.float32)


def compare(
    environment: Environment, name: str, samples: Samples, *, runtime: str, against: str, variant: str = "", repeat: int = 0
) -> CardParity:
    """Compare a card's models on `runtime` with the same on `against`, through its decoder. `variant`: another card with the same tensors,
    whose files run on `runtime`. `repeat`: so many timed runs afterwards. A failure is in the result, not raised; an unknown name is.
    """
    card, tested = _card(environment, name), _card(environment, variant or name)
    result = CardParity(card=name, variant=tested.name, runtime=runtime, against=against)
    pairs: list[Pair] = []
    settings = msgspec.structs.replace(environment.settings.engines, runtime=[against], roles={card.role: card.name})

    def around(loaded: EngineCard, model: str, engine: Engine) -> Engine:
        if loaded.name != card.name:
            return engine
        other = engines.runtimes.load_on(runtime, tested, model, _file(environment, tested, model))
        pairs.append(Pair(model, card.models[model], engine, other, tested.tolerance))
        return pairs[-1]

    with environment.make_engines(settings, around) as engines:
        try:
            exercise(engines.role(card.role), card.role, samples, engines)
            for pair in pairs:
                pair.repeat(repeat)
        except NoSampleError as error:
            return msgspec.structs.replace(result, untested=str(error))
        except EngineError as error:
            return msgspec.structs.replace(result, problem=str(error))
        models = tuple(pair.result() for pair in sorted(pairs, key=lambda pair: pair.name))
    problem = "; ".join(f"{one.model}: {one.problem}" for one in models if one.problem) if models else "no input reached it"
    return msgspec.structs.replace(result, models=models, problem=problem)


def _card(environment: Environment, name: str) -> EngineCard:
    if name not in environment.cards:
        raise UsageError(f'no engine is called "{name}"{nearest(name, environment.cards)}')
    return environment.cards[name]


def _file(environment: Environment, card: EngineCard, model: str) -> Path:
    files = installed(card, environment.home)
    if files is None:
        raise EngineError(f"{card.name} is not fetched; run: edgemem engines fetch {card.name}")
    if model not in card.models:
        raise EngineError(f'{card.name} has no model "{model}"{nearest(model, card.models)}')
    return files[card.models[model].file]


def exercise(player: Any, role: str, samples: Samples, engines: Engines) -> None:
    """Let the object of a role do its work on all samples. Raises EngineError for a role without samples or without such work."""
    if role not in _WORK:
        raise EngineError(f'models of the role "{role}" cannot be compared{nearest(role, _WORK)}')
    _WORK[role](player, samples, engines)


def _images(samples: Samples) -> Sequence[Image]:
    if not samples.images:
        raise NoSampleError("there are no pictures in the samples; give some with --sample")
    return samples.images


def _sounds(samples: Samples) -> Sequence[Vector]:
    if not any(len(sound) for sound in samples.sounds):
        raise NoSampleError("there is no sound in the samples; give a recording of speech with --sample")
    return [sound for sound in samples.sounds if len(sound)]


def _classify(player: Any, samples: Samples, _engines: Engines) -> None:
    images = _images(samples)
    for image in images:
        player.classify([image])
    player.classify(list(images[:4]))


def _detect(player: Any, samples: Samples, _engines: Engines) -> None:
    for image in _images(samples):
        player.detect(image)


def _read(player: Any, samples: Samples, _engines: Engines) -> None:
    for image in _images(samples):
        player.read(image)


def _detect_faces(player: Any, samples: Samples, _engines: Engines) -> None:
    for image in _images(samples):
        player.detect_faces(image)


def _embed_faces(player: Any, samples: Samples, engines: Engines) -> None:
    detector = engines.role("detect_face")
    for image in _images(samples):
        for face in detector.detect_faces(image)[:4]:
            player.embed_face(image, face)


def _embed_texts(player: Any, _samples: Samples, _engines: Engines) -> None:
    for text in TEXTS:
        player.embed_text([text])
    player.embed_text([f"{text}?" for text in TEXTS])


def _embed_joint(player: Any, samples: Samples, engines: Engines) -> None:
    images = _images(samples)
    player.glance(list(images))
    for image in images:
        player.look(image)
    _embed_texts(player, samples, engines)


def _detect_speech(player: Any, samples: Samples, _engines: Engines) -> None:
    for sound in _sounds(samples):
        whole = sound[: len(sound) // player.window * player.window]
        state = None
        for start in range(0, len(whole), player.window * 31):
            _, state = player.speech(whole[start : start + player.window * 31], state)


def _embed_voices(player: Any, samples: Samples, _engines: Engines) -> None:
    for sound in _sounds(samples):
        for start in range(0, len(sound), 5 * SOUND_RATE_HZ):
            player.embed_voice(sound[start : start + 5 * SOUND_RATE_HZ])


_WORK: Mapping[str, Callable[[Any, Samples, Engines], None]] = {
    "classify": _classify,
    "detect": _detect,
    "read_text": _read,
    "detect_face": _detect_faces,
    "embed_face": _embed_faces,
    "embed_text": _embed_texts,
    "embed_joint": _embed_joint,
    "detect_speech": _detect_speech,
    "embed_voice": _embed_voices,
}
"""What the object of each role does with the samples."""
