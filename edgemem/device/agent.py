"""The daemon: one thread pair per stream (one captures, one does the rest), one store, one socket; a clean stop and nothing in silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.config import RunSource, Settings, parse_bytes
from edgemem.device import notify
from edgemem.device.shared_store import LockedRetainer, SharedStore
from edgemem.device.stream_worker import StreamWorker
from edgemem.errors import MemoryDirError, SourceError, UsageError
from edgemem.events import StreamStatus
from edgemem.extend.assembly import make_parts
from edgemem.extend.sources import open_source, source_for
from edgemem.extend.stats import save_stats
from edgemem.remember.disk import schema
from edgemem.remember.disk.directory import is_paused
from edgemem.remember.forget import finish_forgetting
from edgemem.remember.rules import KeepRules, Retainers
from edgemem.remember.store import Store
from edgemem.see.pipeline import Pipeline
from edgemem.see.privacy import Privacy
from edgemem.see.signals import stop_on_signals
from edgemem.see.sources.base import Source
from edgemem.serve import admin
from edgemem.serve.dispatch import Dispatcher
from edgemem.serve.messages import ForgetReply, ForgetRequest, NameReply, NameRequest
from edgemem.serve.questions import QuestionService
from edgemem.serve.session_log import SessionLogger
from edgemem.serve.socket_server import Server

if TYPE_CHECKING:
    from edgemem.extend.context import PluginContext
    from edgemem.extend.plugins import Plugins
    from edgemem.extend.recipe import Recipe, Recipes

_TICK_S = 1.0
"""How often the agent looks after its streams and reports to the service manager."""
_STOP_S = 45.0
"""For the streams to end: opening a network camera may take its time-out of 10 s, a last commit with its text written longer."""
_RULES_S = 3600.0
"""What a retention rule calls too old goes at least this often, also from streams in which nothing happens."""


@dataclass
class Environment:
    """What the agent is made from, as the command line reads it from the settings."""

    settings: Settings
    home: Path
    recipes: Recipes
    plugins: Plugins
    context: PluginContext
    digest: str
    """`wire.digest` of these settings."""


class _SourceSetup:
    """Opens one configured source and builds what sees it, anew for every attempt."""

    def __init__(self, spec: RunSource, memory: Path, shop: Environment) -> None:
        self.recipe: Recipe = shop.recipes.read(spec.recipe or shop.settings.recipe)
        self._spec, self._memory, self._shop = spec, memory, shop

    def source(self) -> Source:
        """Raises SourceError when it is not there (yet)."""
        shop, spec, recipe = self._shop, self._spec, self.recipe
        return open_source(spec.source, plugins=shop.plugins, rate_fps=recipe.rate_fps, stream=spec.stream, settings=recipe.source)

    def pipeline(self, source: Source, store: Store) -> tuple[Pipeline, list[str]]:
        """What sees the source, and notes on what it does without. Raises UsageError where nothing of it may be kept."""
        shop, rules = self._shop, self._shop.settings.retention
        privacy = Privacy(shop.settings.privacy, rules, self._memory, source.name)
        if not privacy.paused:
            privacy.require()
        parts, notes = make_parts(shop.recipes, self.recipe, shop.context, shop.plugins)
        parts.privacy = privacy
        if rules:
            parts.retainer = Retainers([KeepRules(rules), *([parts.retainer] if parts.retainer else [])])
        if parts.retainer is not None:
            parts.retainer = LockedRetainer(parts.retainer)
        return Pipeline(source, parts, store), notes


def check_sources(settings: Settings, recipes: Recipes) -> None:
    """Raises UsageError for what no waiting mends: streams of one name, a recipe that is none, a recording that is not there."""
    sources = settings.run.sources
    if len({_label(spec) for spec in sources}) < len(sources):
        raise UsageError("run.sources: two streams have one name; give each source a stream of its own")
    for spec in sources:
        recipes.read(spec.recipe or settings.recipe)
        try:
            source_for(spec.source, recipes.plugins)
        except SourceError as error:
            raise UsageError(f"run.sources: {error}") from None


class Agent:
    """Sees every source of `settings.run` into its memory and answers at its socket, until SIGTERM or SIGINT. Run it in the main thread."""

    def __init__(self, shop: Environment, say: Callable[[str], None]) -> None:
        run = shop.settings.run
        if not run.memory:
            raise UsageError("run.memory is not set: name the memory's directory in the settings file")
        if not run.sources:
            raise UsageError('run.sources is empty: name a camera in the settings file, such as [[run.sources]] source = "/dev/video0"')
        check_sources(shop.settings, shop.recipes)
        self._memory = Path(run.memory).expanduser()
        self._shop = shop
        self._say = say
        self._looks = {_label(spec): _SourceSetup(spec, self._memory, shop) for spec in run.sources}
        self._stop = threading.Event()
        self._eyes: list[StreamWorker] = []
        self._store: SharedStore | None = None
        self._alone = threading.Lock()
        """Held by who makes every stream rest."""

    def run(self) -> None:
        """Until told to stop. Raises MemoryDirError when the memory cannot be written (any more), UsageError."""
        with stop_on_signals(self._stop.set), ExitStack() as stack:
            if not self._wait_while_paused():
                return
            settings = self._shop.settings
            _end_forgetting(self._memory, self._say)
            store = SharedStore.open(self._memory, budget_bytes=parse_bytes(settings.budget.disk), durability=settings.store.durability)
            assert isinstance(store, SharedStore)
            stack.enter_context(store)
            self._store = store
            stack.callback(save_stats, self._shop.home, self._shop.plugins)
            self._eyes = [StreamWorker(label, looks, store, self._say) for label, looks in self._looks.items()]
            stack.callback(self._end_eyes)
            self._open_socket(stack, store)
            for eye in self._eyes:
                eye.start()
            notify.tell("READY=1")
            self._say(f"remembers {', '.join(self._looks)} in {self._memory}")
            self._watch(store)
            notify.tell("STOPPING=1")

    def _wait_while_paused(self) -> bool:
        """Off means off: while the memory is paused nothing is opened, not even the store. False when stopped meanwhile."""
        if is_paused(self._memory):
            self._say(f"{self._memory} is paused: waits for `edgemem memory resume --memory {self._memory}`")
            notify.tell("READY=1\nSTATUS=paused")
        while is_paused(self._memory) and not self._stop.wait(_TICK_S):
            self._pet_watchdog()
        return not self._stop.is_set()

    def _open_socket(self, stack: ExitStack, store: SharedStore) -> None:
        shop = self._shop
        clerk = SessionLogger(store)
        stack.callback(clerk.close)
        desk = QuestionService(self._memory, shop.recipes, shop.context, shop.plugins)
        reception = Dispatcher(desk, clerk, shop.digest, self)
        server = Server(self._memory, reception.reply)
        try:
            server.open()
        except OSError as error:
            self._say(f"no socket in {self._memory} ({error.strerror or error}): questions are answered by the commands themselves")
            return
        stack.callback(server.close)

    def _watch(self, store: SharedStore) -> None:
        """Until a stop or a failure: say what becomes blind, keep the rules, tell the service manager that all is well."""
        rules_due_s = time.monotonic() + _RULES_S
        while not self._stop.wait(_TICK_S):
            for eye in self._eyes:
                eye.say_changes()
                if (failed := store.lost or eye.failed) is not None:
                    raise failed
            if time.monotonic() > rules_due_s and not is_paused(self._memory) and not self._alone.locked():
                rules_due_s = time.monotonic() + _RULES_S
                LockedRetainer(KeepRules(self._shop.settings.retention)).apply(store)
            self._pet_watchdog()

    def streams(self) -> tuple[StreamStatus, ...]:
        """How the streams fare."""
        return tuple(eye.fares for eye in self._eyes)

    def name_voice(self, request: NameRequest) -> NameReply:
        """Between two writes of the streams. Raises UsageError."""
        assert self._store is not None
        return admin.name_voice(self._store, request)

    def forget(self, request: ForgetRequest) -> ForgetReply:
        """While every stream rests: what they still hold of it would come back with their next write. Raises EdgememError."""
        assert self._store is not None
        admin.check(self._memory, request, self._shop.recipes)
        with self._alone, ExitStack() as stack:
            self._say("something is forgotten: the streams rest meanwhile")
            stack.callback(self._say, "the streams go on")
            for eye in self._eyes:
                stack.enter_context(eye.resting(_STOP_S))
            with self._store.lent(self._shop.settings.store.durability):
                return admin.forget(self._memory, request, self._shop.recipes, self._shop.context)

    def _pet_watchdog(self) -> None:
        """Not while a stream hangs: then the service manager starts us again."""
        limit_s = notify.watchdog_s()
        if limit_s is None or all(eye.moves(limit_s / 2) for eye in self._eyes):
            blind = [f"{eye.label} is blind" for eye in self._eyes if eye.blind]
            notify.tell(f"WATCHDOG=1\nSTATUS={'; '.join(blind) or 'sees ' + ', '.join(self._looks)}")

    def _end_eyes(self) -> None:
        """Stop every stream, and wait until what was seen is committed."""
        for eye in self._eyes:
            eye.stop()
        deadline = time.monotonic() + _STOP_S
        for eye in self._eyes:
            if eye.ident is not None:
                eye.join(max(0.0, deadline - time.monotonic()))
            if eye.is_alive():
                self._say(f"{eye.label}: did not end within {_STOP_S:.0f} s; its last second is lost")


def _label(spec: RunSource) -> str:
    """The stream's name where one is given, else the source without a password."""
    return spec.stream or Path(spec.source.rpartition("@")[2]).name or spec.source


def _end_forgetting(memory: Path, say: Callable[[str], None]) -> None:
    """Wipe what an interrupted `forget` left to be wiped. A reader in the way is said, and no reason not to see."""
    if not (memory / schema.DATABASE).exists():
        return
    try:
        finish_forgetting(memory)
    except MemoryDirError as error:
        say(str(error))
