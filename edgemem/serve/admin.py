"""Administration of a memory: by its agent if one runs, else by the calling process. Both do the same and give the same reply."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.errors import EngineError, UsageError
from edgemem.events import EntityNamed
from edgemem.hear.voices import without_voices
from edgemem.remember.budget.batches import cap_in_force
from edgemem.remember.entries import NewEntity
from edgemem.remember.forget import finish_forgetting
from edgemem.remember.forget import forget as forget_it
from edgemem.remember.store import Store
from edgemem.see.carry_out import describing
from edgemem.see.resume import without_pictures
from edgemem.serve.messages import ForgetReply, ForgetRequest, NameReply, NameRequest

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment
    from edgemem.extend.feed import Feed
    from edgemem.extend.recipe import Recipe
    from edgemem.infer.roles import TextEmbedder
    from edgemem.see.operations import Writer


def name_voice(store: Store, request: NameRequest, feed: Feed) -> NameReply:
    """Give a voice the name of a person, for past and future speech. Raises UsageError if there is no name to remove."""
    voice, known_us = f"speaker {request.number}", request.known_us
    with store.view() as view:
        before = next((entity.name for entity in view.entities(name=voice)), voice)
    with store.transaction() as tx:
        voice_id = tx.add_entity(NewEntity(kind="voice", name=voice, known_us=known_us))
        if request.name:
            tx.merge_entity(voice_id, tx.add_entity(NewEntity(kind="person", name=request.name, known_us=known_us)), known_us)
        elif (merge_id := tx.merge_of(voice_id)) is not None:
            tx.unmerge(merge_id, known_us)
        else:
            raise UsageError(f"{voice} has no name that could be removed")
    with store.view() as view:
        for entity in view.entities(name=voice)[:1]:
            feed.publish(EntityNamed(entity=entity, before=before, known_us=known_us))
        return NameReply(utterances=len(view.utterances(speaker_id=voice_id)))


def check(memory: Path, request: ForgetRequest, environment: Environment) -> None:
    """Raises the UsageError that `forget` would raise, before the streams are suspended for it."""
    environment.recipe(request.recipe)
    forget_it(memory, request.wanted, dry_run=True)


def forget(memory: Path, request: ForgetRequest, environment: Environment) -> ForgetReply:
    """Forget what the request names. No other process may write the memory. Raises EdgememError."""
    recipe = environment.recipe(request.recipe)
    writers: dict[str, list[Writer]] = {}
    for chain in environment.chains(recipe):
        writers.setdefault(chain.segmenter.name, []).extend(chain.writers)
    first = next(iter(writers.values()))
    finish_forgetting(memory)
    describe = describing(lambda segmenter: writers.get(segmenter, first), _embedder(memory, recipe, environment))
    return ForgetReply(receipt=forget_it(memory, request.wanted, describe=describe, clear=without_pictures, unlearn=without_voices))


def _embedder(memory: Path, recipe: Recipe, environment: Environment) -> TextEmbedder | None:
    """The embedder for documents; None if the recipe or this machine has none, because forgetting must work without a model."""
    if not recipe.embed_text or not environment.engines.has("embed_text"):
        return None
    try:
        embedder: TextEmbedder = environment.engines.role("embed_text")
        with Store.open(memory, create=False, budget_bytes=cap_in_force(memory)) as store:
            store.ensure_space(embedder.space, holds="passage")
    except EngineError:
        return None
    return embedder
