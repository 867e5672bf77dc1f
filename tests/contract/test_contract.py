"""The contract with plugins is complete: these plugins need only `edgemem.extend`, and the core does the rest."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import numpy as np
import pytest

import edgemem
from edgemem.config import Settings
from edgemem.extend import Box, Face, Space, sources
from edgemem.extend.assembly import make_parts
from edgemem.extend.context import PluginContext
from edgemem.extend.hookspecs import HookSpecs
from edgemem.extend.plugins import PLACES, Plugins
from edgemem.extend.recipe import Recipe, Recipes
from edgemem.extend.testing import CHECKS, SyntheticCamera, check_perceiver, check_plugin, load_file
from edgemem.remember.check import check_memory
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow
from edgemem.see.select import KeepAll

HERE = Path(__file__).parent
PROOFS = sorted(path for path in HERE.glob("*.py") if not path.name.startswith(("test_", "conftest")))
WITHOUT_COMPONENTS = {"commands", "recipes", "settings", "tasks"}


def imports(path):
    """Modules that a file imports from, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", PROOFS, ids=lambda path: path.stem)
def test_a_proof_plugin_imports_nothing_of_edgemem_but_the_public_contract(path):
    own = {name for name in imports(path) if name.startswith("edgemem")}
    assert own == {"edgemem.extend"}


def test_every_public_name_can_be_imported():
    from edgemem import extend

    assert all(getattr(extend, name) is not None for name in extend.__all__)
    assert set(extend.__all__) == {"Component", "NoSettings", "SettingsTable", "hookimpl", *extend._HOME_OF}
    with pytest.raises(AttributeError):
        _ = extend.Selektor


def test_every_place_of_components_has_a_conformance_check():
    assert set(CHECKS) == set(PLACES) - WITHOUT_COMPONENTS


def test_every_hook_is_called_by_somebody():
    """Components of a place are created with the name of the place; other hooks are called by their own names."""
    texts = [path.read_text(encoding="utf-8") for path in Path(edgemem.__file__).parent.rglob("*.py") if path.name != "hookspecs.py"]
    named = {
        node.value for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    called = {node.attr for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    kit = ast.parse((Path(edgemem.__file__).parent / "extend/testing/plugin.py").read_text(encoding="utf-8"))
    only_checked = {node.value for node in ast.walk(kit) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert only_checked  # the kit's own table of places does not count as a caller: each is named elsewhere too
    for hook in (name for name in vars(HookSpecs) if not name.startswith("_")):
        place = hook.removeprefix("register_")
        assert hook in called or hook in named or _named_outside_the_kit(place), f"nothing calls {hook}"


def _named_outside_the_kit(place):
    for path in Path(edgemem.__file__).parent.rglob("*.py"):
        if "testing" in path.parts or path.name in {"hookspecs.py", "builtin.py"}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if any(isinstance(argument, ast.Constant) and argument.value == place for argument in call.args):
                return True
    return False


def test_the_reservoir_plugin_keeps_its_protocols():
    checked = check_plugin(load_file(HERE / "reservoir.py"))
    assert set(checked) == {"selectors/reservoir", "segmenters/colours", "writers/farewell"}


RECIPE = Recipe(
    name="reservoir",
    select={"use": "reservoir", "size": 5},
    segment={"use": "colours"},
    write=[{"use": "farewell"}],
    embed_text=False,
)


def reservoir(directory, camera, before=lambda _pipeline: None):
    plugins = Plugins.of(load_file(HERE / "reservoir.py"))
    parts, notes = make_parts(Recipes(plugins), RECIPE, PluginContext(Settings(), directory), plugins)
    assert notes == []
    with Store.open(directory / "memory") as store:
        pipeline = Pipeline(camera, parts, store)
        before(pipeline)
        return pipeline.run()


def remembered(directory):
    with Store.open(directory / "memory") as store, store.view() as view:
        moments = [(m.seq, m.role) for m in view.moments()]
        segments = [(s.level, s.t0_us, s.t1_us, None if s.parent_id is None else True) for s in view.segments()]
        documents = sorted((d.kind, d.text.partition(" (")[0]) for d in view.documents())
    return moments, segments, documents


def test_a_reservoir_of_moments_replaces_evicts_and_pins(tmp_path):
    report = reservoir(tmp_path, SyntheticCamera(seconds=60, scene_s=6))
    moments, _, documents = remembered(tmp_path)
    assert len(moments) == 5
    assert len({seq for seq, _ in moments}) == 5
    evicted = report.moments_kept - 5
    assert evicted > 5
    assert sum(kind == "farewell" for kind, _ in documents) == evicted
    assert ("summary", f"{evicted} moments left") in documents
    assert check_memory(tmp_path / "memory") == []


def test_what_an_evicted_moment_showed_is_written_while_its_picture_is_there(tmp_path):
    reservoir(tmp_path, SyntheticCamera(seconds=40))
    with Store.open(tmp_path / "memory") as store, store.view() as view:
        texts = [document.text for document in view.documents(kinds=("farewell",))]
    assert texts
    assert all(int(text.rpartition("(")[2].removesuffix(" bytes)")) > 500 for text in texts)


def test_clips_have_their_scene_as_parent(tmp_path):
    parts = PipelineParts(selector=KeepAll(), chains=[Chain(load_file(HERE / "reservoir.py").Colours())])
    with Store.open(tmp_path / "m") as store:
        Pipeline(SyntheticCamera(seconds=54, scene_s=6), parts, store).run()
        with store.view() as view:
            scenes = view.segments(level=1)
            clips = view.segments(level=0)
            assert len(clips) > 4
            assert len(scenes) == -(-len(clips) // 4)
            for scene in scenes:
                inside = view.segments(parent_id=scene.id)
                assert inside == [clip for clip in clips if scene.t0_us <= clip.t0_us and clip.t1_us <= scene.t1_us]
            assert all(clip.parent_id is not None for clip in clips)


@pytest.mark.parametrize("seconds", [7, 23, 41])
def test_a_killed_run_of_a_reservoir_goes_on_as_if_nothing_had_happened(tmp_path, seconds):
    class Killed(Exception):
        """Instead of SIGKILL."""

    def camera():
        return SyntheticCamera(seconds=60, scene_s=6)

    def kill(pipeline):
        see = pipeline._see

        def see_and_commit(frame):
            see(frame)
            pipeline._commit()
            if frame.seq == seconds:
                raise Killed

        pipeline._see = see_and_commit

    reservoir(tmp_path / "whole", camera())
    with pytest.raises(Killed):
        reservoir(tmp_path / "killed", camera(), kill)
    reservoir(tmp_path / "killed", camera())
    whole, killed = remembered(tmp_path / "whole"), remembered(tmp_path / "killed")
    assert [seq for seq, _ in killed[0]] == [seq for seq, _ in whole[0]]
    assert [text for text in killed[2] if text[0] == "summary"] == [text for text in whole[2] if text[0] == "summary"]


def test_a_moment_that_a_user_pinned_is_not_evicted(tmp_path):
    def pin(pipeline):
        see = pipeline._see

        def see_then_pin(frame):
            see(frame)
            if frame.seq == 4:
                pipeline._commit()
                with pipeline._store.transaction() as tx:
                    for moment_id in range(1, 6):
                        tx.pin(moment_id)

        pipeline._see = see_then_pin

    reservoir(tmp_path, SyntheticCamera(seconds=60), pin)
    assert {0, 1, 2, 3, 4} <= {seq for seq, _ in remembered(tmp_path)[0]}


class ColouredFaces:
    """A detector and an embedder for pictures of one colour: the colour is the face."""

    space = Space(name="colours", dim=3, calibration={"same_person": 0.95})

    def detect_faces(self, image):
        return [Face(box=Box(0.25, 0.25, 0.75, 0.75), score=0.9, landmarks=((0.5, 0.5),) * 5)] if image.max() else []

    def embed_face(self, image, _face):
        vector = image[100, 100].astype(np.float32)
        return vector / np.linalg.norm(vector)


class People(SyntheticCamera):
    """Blue, green, nobody, blue, red, green: a second each."""

    colours = ((255, 0, 0), (0, 255, 0), (0, 0, 0), (250, 10, 0), (0, 0, 255), (10, 250, 0))

    def frames(self):
        for frame in super().frames():
            picture = np.full_like(frame.image, 0)
            picture[:] = self.colours[frame.seq % len(self.colours)]
            yield msgspec.structs.replace(frame, image=picture)


def faces():
    return load_file(HERE / "faces.py").Faces(ColouredFaces(), ColouredFaces())


def test_the_face_plugin_keeps_its_protocol():
    check_perceiver(faces, "perceiver faces")


def test_faces_become_parts_and_are_resolved_to_entities(tmp_path):
    def see(stream, seconds=6):
        parts = PipelineParts(selector=KeepAll(), chains=[Chain(FixedWindow())], perceivers=[faces()])
        with Store.open(tmp_path / "m") as store:
            return Pipeline(People(seconds, stream=stream), parts, store).run()

    assert see("door").notes == ()
    with Store.open(tmp_path / "m") as store, store.view() as view:
        assert [entity.name for entity in view.entities(kind="face")] == ["face 1", "face 2", "face 3"]
        named = [[part.entity.name for part in view.parts(moment_id=moment.id)] for moment in view.moments()]
        assert named == [["face 1"], ["face 2"], [], ["face 1"], ["face 3"], ["face 2"]]
        part = view.parts()[0]
        assert part.kind == "face"
        assert part.box.area == pytest.approx(0.25, abs=1e-3)
        blue = np.array([1, 0, 0], np.float32)
        assert view.nearest_entities("colours-faces", blue, 1)[0].entity.name == "face 1"
    see("garden")
    with Store.open(tmp_path / "m") as store, store.view() as view:
        assert len(view.entities(kind="face")) == 3  # known again in another stream and run
        assert len(view.parts(entity_id=view.entities(name="face 1")[0].id)) == 4


def test_real_faces_are_between_speakers():
    from edgemem.cli.app import CommandContext

    session = CommandContext(None, ())
    engines = session.context.engines
    if engines is None or any(engines.missing(role) for role in ("detect_face", "embed_face")):
        pytest.skip("centerface and faceres are not fetched: edgemem engines fetch centerface faceres")
    plugins = Plugins.of(load_file(HERE / "faces.py"))
    make = plugins.make("perceivers", "faces", {}, session.context, "test")
    check_perceiver(lambda: make, "perceiver faces")


def test_two_sources_that_claim_one_scheme_are_refused(tmp_path):
    (tmp_path / "clash.py").write_text(
        "from edgemem.extend import Component, hookimpl\n\n\n@hookimpl\ndef register_sources():\n"
        '    yield Component("other", lambda settings, context: None, schemes=("rtsp",))\n'
    )
    with pytest.raises(edgemem.errors.PluginError, match='"network" and "other" both open "rtsp"'):
        sources.open_source("rtsp://host/cam", rate_fps=1, plugins=Plugins.of(load_file(tmp_path / "clash.py")))


def test_a_source_of_a_plugin_opens_its_own_scheme_and_suffix(tmp_path):
    (tmp_path / "noise.py").write_text(
        "from edgemem.extend import Component, hookimpl\nfrom edgemem.extend.testing import SyntheticCamera\n\n\n"
        "def make(settings, context):\n    return SyntheticCamera(5, context.rate_fps, stream=context.stream or 'noise')\n\n\n"
        '@hookimpl\ndef register_sources():\n    yield Component("noise", make, schemes=("noise",), suffixes=(".noise",))\n'
    )
    plugins = Plugins.of(load_file(tmp_path / "noise.py"))
    (tmp_path / "a.noise").write_bytes(b"")
    for spec in ("noise://anywhere", "noise:anywhere", str(tmp_path / "a.noise")):
        source = sources.open_source(spec, rate_fps=2, plugins=plugins, stream="x")
        assert (source.name, len(list(source.frames()))) == ("x", 10)
    with pytest.raises(edgemem.errors.SourceError, match=r'no source opens "nois:" addresses .did you mean "noise"'):
        sources.open_source("nois://anywhere", rate_fps=2, plugins=plugins)


def test_the_built_in_components_keep_their_protocols(tmp_path):
    from edgemem.extend import builtin
    from edgemem.see.pixels import encode_png
    from edgemem.see.sources.base import SourceContext

    for frame in SyntheticCamera(5).frames():
        (tmp_path / f"{frame.seq}.png").write_bytes(encode_png(frame.image))
    context = SourceContext(spec=str(tmp_path), stream="", rate_fps=1.0, start_us=0)
    checked = check_plugin(builtin, contexts={("sources", "pictures"): context})
    assert {"sources/pictures", "gates/blur", "selectors/keep_all", "segmenters/fixed_window", "writers/event_document"} <= set(checked)
    assert {"retainers/age_tiers", "retrievers/event", "planners/local", "checks/cites_evidence"} <= set(checked)
