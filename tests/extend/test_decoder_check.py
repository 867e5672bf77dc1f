"""The conformance check of decoders: an embedder without a part of its role is refused with what it lacks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from edgemem.extend.testing import FakeJointEmbedder
from edgemem.extend.testing.models import check_decoder


def text(**parts):
    return SimpleNamespace(space=None, embed_text=len, **parts)


def test_whole_roles_pass():
    check_decoder(FakeJointEmbedder, "decoder fake")
    check_decoder(lambda: text(embed_query=len), "decoder text")


@pytest.mark.parametrize(
    ("made", "lacks"),
    [
        (text(), "its role needs embed_query "),
        (text(look=len), "its role needs local, crop_space, glance, embed_images, crops "),
        (SimpleNamespace(), "none of the roles"),
    ],
)
def test_what_a_role_lacks_is_named(made, lacks):
    with pytest.raises(AssertionError, match=lacks):
        check_decoder(lambda: made, "decoder odd")
