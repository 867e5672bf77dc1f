"""Does work that writers postponed until the board is idle, with the writers of the recipes of the streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgemem.errors import EngineError
from edgemem.see.idle import run_idle_job

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment
    from edgemem.extend.recipe import Recipe
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Store
    from edgemem.see.operations import Writer


@dataclass(frozen=True)
class _Made:
    """The writers of a recipe, and the embedder of their documents."""

    recipe: Recipe
    writers: tuple[Writer, ...]
    embedder: TextEmbedder | None


class PostponedWork:
    """Does the jobs of one memory in one thread. `recipes` returns the recipe of each stream, by the name of the stream."""

    def __init__(self, environment: Environment, store: Store, recipes: Callable[[], Mapping[str, str]]) -> None:
        self._environment, self._store, self._recipes = environment, store, recipes
        self._made: dict[str, _Made] = {}
        self._released = False

    def __call__(self, deadline_s: float) -> bool:
        """Do jobs that are due; begin none after `time.monotonic()` reached the deadline. True if there may be more. Raises UsageError if a
        recipe cannot be used (any more), and MemoryDirError.
        """
        made = {stream: self._of(recipe) for stream, recipe in self._recipes().items()}
        writers = [writer for one in made.values() for writer in one.writers]
        if not writers:
            return False
        self._release()
        embedder = next((one.embedder for one in made.values() if one.embedder is not None), None)
        writers_of = {stream: one.writers for stream, one in made.items()}
        while time.monotonic() < deadline_s:
            if not run_idle_job(self._store, writers, embedder, writers_of=writers_of):
                return False
        return True

    def _of(self, name: str) -> _Made:
        """The writers of a recipe; made once, and again when the recipe changed."""
        recipe, made = self._environment.recipe(name), self._made.get(name)
        if made is None or made.recipe is not recipe:
            writers = tuple(
                writer for chain in self._environment.chains(recipe) for writer in chain.writers if "idle" in writer.triggers
            )  # fmt: skip
            made = self._made[name] = _Made(recipe, writers, self._embedder(recipe) if writers else None)
        return made

    def _embedder(self, recipe: Recipe) -> TextEmbedder | None:
        """None if the recipe or this machine has none; the run of each stream has a note about that."""
        engines = self._environment.engines
        if not recipe.embed_text or not engines.has("embed_text"):
            return None
        try:
            embedder: TextEmbedder = engines.role("embed_text")
        except EngineError:
            return None
        self._store.ensure_space(embedder.space, holds="passage")
        return embedder

    def _release(self) -> None:
        """Make jobs due that an earlier process began and did not end: no other process writes this memory."""
        if not self._released:
            with self._store.transaction() as tx:
                tx.release_jobs()
            self._released = True
