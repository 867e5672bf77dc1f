"""What a person does to a memory: by its agent where one runs, else by the command itself. Both do the same and say the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.errors import EngineError, UsageError
from edgemem.extend.assembly import make_chains
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
    from edgemem.extend.context import PluginContext
    from edgemem.extend.recipe import Recipe, Recipes
    from edgemem.infer.roles import TextEmbedder
    from edgemem.see.operations import Writer


def name_voice(store: Store, request: NameRequest) -> NameReply:
    """What the voice said and will say is that person's. Raises UsageError when there is no name to be taken back."""
    voice, known_us = f"speaker {request.number}", request.known_us
    with store.transaction() as tx:
        voice_id = tx.add_entity(NewEntity(kind="voice", name=voice, known_us=known_us))
        if request.name:
            tx.merge_entity(voice_id, tx.add_entity(NewEntity(kind="person", name=request.name, known_us=known_us)), known_us)
        elif (merge_id := tx.merge_of(voice_id)) is not None:
            tx.unmerge(merge_id, known_us)
        else:
            raise UsageError(f"{voice} has no name that could be taken back")
    with store.view() as view:
        return NameReply(utterances=len(view.utterances(speaker_id=voice_id)))


def check(memory: Path, request: ForgetRequest, recipes: Recipes) -> None:
    """Raises the UsageError that `forget` would meet, for whoever has to make room for it first."""
    recipes.read(request.recipe)
    forget_it(memory, request.wanted, dry_run=True)


def forget(memory: Path, request: ForgetRequest, recipes: Recipes, context: PluginContext) -> ForgetReply:
    """Forget what is wanted, for whom the memory stands free: nobody writes it. Raises EdgememError."""
    chosen = recipes.read(request.recipe)
    writers: dict[str, list[Writer]] = {}
    for track in make_chains(recipes, chosen, context):
        writers.setdefault(track.segmenter.name, []).extend(track.writers)
    first = next(iter(writers.values()))
    finish_forgetting(memory)
    describe = describing(lambda segmenter: writers.get(segmenter, first), _embedder(memory, chosen, context))
    return ForgetReply(receipt=forget_it(memory, request.wanted, describe=describe, clear=without_pictures, unlearn=without_voices))


def _embedder(memory: Path, recipe: Recipe, context: PluginContext) -> TextEmbedder | None:
    """What gives documents their vectors; None where the recipe or this machine has none: what is forgotten waits for no model."""
    if not recipe.embed_text or context.engines is None or not context.engines.has("embed_text"):
        return None
    try:
        embedder: TextEmbedder = context.engines.role("embed_text")
        with Store.open(memory, create=False, budget_bytes=cap_in_force(memory)) as store:
            store.ensure_space(embedder.space, holds="passage")
    except EngineError:
        return None
    return embedder
