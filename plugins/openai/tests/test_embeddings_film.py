"""A film of real photographs through the recipe `default`, with the packaged joint embedder behind a server as the hosted model."""

from __future__ import annotations

from types import SimpleNamespace

import cv2
import msgspec
import numpy as np
import pytest
from edgemem_openai.testing_embeddings import EmbeddingServer
from edgemem_vam.dedup import AdaptiveDedup

from edgemem.answer.retrieve import Query
from edgemem.answer.retrievers.frames import HostedMatcher, VectorMatcher
from edgemem.cli.app import CommandContext
from edgemem.cli.main import main
from edgemem.infer.card import WeightSource, cards_dir
from edgemem.infer.fetch import extract, fetch_archive
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see import pixels
from edgemem.see.waiting import embed_waiting

PHOTOGRAPHS = {"astronaut": "png", "chelsea": "png", "coffee": "png", "rocket": "jpg", "motorcycle_left": "png"}
SECONDS = 2
"""Each photograph is shown so long, one frame a second."""
CARD = """\
name = "{name}"
role = "embed_joint"
decoder = "embed_hosted"
format = "embeddings-api"
[uses]
embed_joint = "{local}"
[models.model.inputs]
request = {{ dtype = "uint8", shape = ["bytes"] }}
[models.model.outputs]
embedding = {{ shape = ["inputs", 384] }}
[space]
name = "{name}"
dim = 384
calibration = {{ dedup_fallback = 0.77 }}
[parameters]
model = "behind"
[parameters.query]
text = "Find: {{}}"
"""


@pytest.fixture(scope="session")
def bridge():
    """The packaged joint embedder, which runs behind the server."""
    from edgemem.cli.engines import fetch_all

    session = CommandContext(None, ("engines.threads=2",))
    fetch_all(session)
    return SimpleNamespace(home=session.home, joint=session.engines.role("embed_joint"))


@pytest.fixture(scope="session")
def film(bridge, tmp_path_factory):
    """A folder of pictures: a cat, a coffee and so on, one after the other."""
    source = WeightSource(
        kind="pypi", package="scikit-image", version="0.25.2",
        members={name: f"skimage/data/{name}.{kind}" for name, kind in PHOTOGRAPHS.items()},
    )  # fmt: skip
    files = extract(source, fetch_archive(source, bridge.home / "archives"), tmp_path_factory.mktemp("photographs"))
    folder = tmp_path_factory.mktemp("film")
    for number, path in enumerate(files.values()):
        picture = pixels.shrink(cv2.imread(str(path)), 480, smooth=True)
        for second in range(SECONDS):
            cv2.imwrite(str(folder / f"{number * SECONDS + second:02}.png"), picture)
    return folder


def vectors_of(bridge, shift=0.0):
    """What the hosted model computes: the vectors of the packaged one. With a `shift` all of them lie close together."""

    def embed(inputs):
        rows = [
            bridge.joint.glance([pixels.decode(one.jpeg)])[0] if one.jpeg else bridge.joint.embed_text([one.text.removeprefix("Find: ")])[0]
            for one in inputs
        ]
        return np.stack(rows) + shift

    return embed


@pytest.fixture
def board(tmp_path, bridge, monkeypatch, capsys):
    """The command line with a data directory of its own that holds the packaged models: `board(server, "ingest", ...)`."""
    home = tmp_path / "home"
    home.mkdir()
    for part in ("engines", "cache"):
        (home / part).symlink_to(bridge.home / part)
    cards = tmp_path / "cards"
    cards.mkdir()
    (cards / "hosted.toml").write_text(CARD.format(name="hosted", local="here"))
    (cards / "shifted.toml").write_text(CARD.format(name="shifted", local="label-bridge"))
    here = (cards_dir() / "label-bridge.toml").read_text().replace('name = "label-bridge"\nrole', 'name = "here"\nrole')
    (cards / "here.toml").write_text(here.replace("dedup_fallback = 0.12", "dedup_fallback = 0.31"))
    monkeypatch.setenv("EDGEMEM_HOME", str(home))
    monkeypatch.delenv("EDGEMEM_CONFIG", raising=False)

    def settings(server, *more, card="hosted"):
        return (
            f'engines.cards=["{cards}"]', 'engines.runtime=["onnx","openai"]', f"engines.roles.embed_joint={card}",
            f"engines.runtimes.openai.base_url={server.base_url}", "engines.runtimes.openai.backoff_s=0.001",
            "engines.runtimes.openai.rest_s=0", "engines.threads=2", *more,
        )  # fmt: skip

    def call(server, *arguments, settings=settings, send=True):
        chosen = settings(server, f"engines.runtimes.openai.send_pictures={'true' if send else 'false'}")
        given = [part for setting in chosen for part in ("--set", setting)]
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments), "--json", *given])
        captured = capsys.readouterr()
        return int(ended.value.code or 0), msgspec.json.decode(captured.out or b"null"), captured.err

    call.settings = settings
    call.memory = tmp_path / "memory"
    return call


def shown(name):
    """The seconds at which a photograph is shown."""
    first = list(PHOTOGRAPHS).index(name) * SECONDS
    return range(first, first + SECONDS)


def test_a_film_is_remembered_and_found_by_the_vectors_of_a_server(board, bridge, film):
    with EmbeddingServer(vectors_of(bridge)) as server:
        code, report, err = board(server, "ingest", film, "--memory", board.memory, "--start", "2026-05-04T10:00:00Z")
        assert code == 0, err
        pictures = [one for one in server.inputs if one.jpeg]
        assert len(pictures) == report["moments_kept"] > 0, "each kept picture is sent, and once"
        assert "no vector" not in err
        with View.open(board.memory) as view:
            assert view.moments_without_vector("hosted", 9) == []
            ids = [moment.id for moment in view.moments()]
            assert view.vectors("hosted", ids).shape == (len(ids), 384)
            assert view.vectors(bridge.joint.space.name, ids).shape == (len(ids), 384), "those of the glances are kept too"
        for word, name in (("cat", "chelsea"), ("rocket", "rocket"), ("motorcycle", "motorcycle_left")):
            _, found, _ = board(server, "search", word, "--memory", board.memory, "--channel", "frame")
            assert round(found["hits"][0]["offset_s"]) in shown(name), word
        assert "Find: cat" in {one.text for one in server.inputs}
        code, answer, err = board(server, "ask", "When did I see the cat?", "--memory", board.memory)
        assert (code, answer["status"]) == (0, "answered"), err
        assert round(answer["evidence"][0]["offset_s"]) in shown("chelsea")
        assert "on this device" not in err
        _, spent, _ = board(server, "spent")
        (line,) = spent["spent"]
        assert (line["task"], line["model"], line["tokens_in"]) == ("embedding", "behind", 7 * len(server.inputs))


def test_a_server_that_is_away_stops_nothing_and_pictures_get_their_vectors_later(board, bridge, film, tmp_path):
    server = EmbeddingServer(vectors_of(bridge)).__enter__()
    server.close()
    code, report, err = board(server, "ingest", film, "--memory", board.memory, "--start", "2026-05-04T10:00:00Z")
    assert code == 0
    assert f"{report['moments_kept']} pictures have no vector of hosted yet: hosted: 127.0.0.1:{server.port} cannot be reached" in err
    assert "after the next recording" in err
    code, answer, err = board(server, "ask", "When did I see the cat?", "--memory", board.memory)
    assert (code, answer["status"]) == (0, "answered")
    assert round(answer["evidence"][0]["offset_s"]) in shown("chelsea")
    assert "pictures were searched by the engine on this device, not by hosted: hosted: 127.0.0.1" in err
    more = tmp_path / "more"
    more.mkdir()
    cv2.imwrite(str(more / "0.png"), cv2.imread(str(film / "00.png")))
    with EmbeddingServer(vectors_of(bridge), port=server.port) as back:
        code, answer, err = board(back, "ask", "When did I see the cat?", "--memory", board.memory)
        assert (code, answer["status"]) == (0, "answered")
        assert "none of these pictures has its vector yet" in err
        code, _, err = board(back, "ingest", more, "--memory", board.memory, "--start", "2026-05-04T11:00:00Z")
        assert code == 0
        assert "no vector" not in err
        assert len([one for one in back.inputs if one.jpeg]) == report["moments_kept"] + 1
        code, answer, err = board(back, "ask", "When did I see the cat?", "--memory", board.memory)
        assert round(answer["evidence"][0]["offset_s"]) in shown("chelsea")
        assert "on this device" not in err


def test_pictures_stay_on_the_board_until_the_settings_say_otherwise(board, bridge, tmp_path, film):
    one = tmp_path / "one"
    one.mkdir()
    cv2.imwrite(str(one / "0.png"), cv2.imread(str(film / "02.png")))
    with EmbeddingServer(vectors_of(bridge)) as server:
        code, _, err = board(server, "ingest", one, "--memory", board.memory, send=False)
        assert code == 0
        assert "set engines.runtimes.openai.send_pictures = true" in err
        assert server.asked == []
        code, answer, _ = board(server, "ask", "Have I seen a cat?", "--memory", board.memory, send=False)
        assert (code, answer["status"]) == (0, "answered"), "its labels were recognised on the board"
        assert not [given for given in server.inputs if given.jpeg]


def test_frames_are_compared_by_the_calibration_of_the_space_that_they_are_compared_in(board, bridge):
    with EmbeddingServer(vectors_of(bridge)) as server:
        environment = CommandContext(None, board.settings(server))
        parts, _ = environment.parts(environment.recipe("default"))
        environment.engines.close()
    assert AdaptiveDedup().threshold() == 0.12
    assert parts.selector.threshold() == 0.31, "of the part on this device, not 0.77 of the server's space"


def test_what_a_chance_hit_scores_is_measured_in_each_space(board, bridge, film):
    """In the second space all cosines are above 0.9: only a threshold of its own tells a cat that was seen from a giraffe that was not."""
    surely, cosines = {}, {}
    with EmbeddingServer(vectors_of(bridge)) as plain, EmbeddingServer(vectors_of(bridge, shift=0.15)) as close:
        board(plain, "ingest", film, "--memory", board.memory, "--start", "2026-05-04T10:00:00Z")
        for card, server in (("hosted", plain), ("shifted", close)):
            send = "engines.runtimes.openai.send_pictures=true"
            environment = CommandContext(None, board.settings(server, send, card=card))
            joint = environment.engines.role("embed_joint")
            with Store.open(board.memory) as store:
                store.ensure_space(joint.space)
                assert embed_waiting(store, joint, 1e12) is False
            matcher = HostedMatcher(joint, VectorMatcher(joint.local))
            with View.open(board.memory) as view:
                for word in ("cat", "giraffe"):
                    surely[card, word] = matcher.match(Query(text=word), view, 3).confidence
                    cosines[card, word] = view.vector_search(card, joint.embed_text([word])[0], 1)[0][1]
            environment.engines.close()
    assert cosines["shifted", "giraffe"] > cosines["hosted", "cat"], "a threshold of one space says nothing in the other"
    for card in ("hosted", "shifted"):
        assert surely[card, "cat"] > 0.5 > surely[card, "giraffe"], surely
