"""The limits of confidence, against numbers worked out by hand."""

from fit import Example, threshold


def test_the_limit_is_where_pictures_are_right_as_often_as_an_answer_is_worth() -> None:
    """Of 30 things at each confidence 6 and 24 are right, and 3 were never there: with nine of ten there the confidence is the share.

    With two of three there, a thing that was there weighs (2/3) / .9, another (1/3) / .1: the shares are .148 and
    .593, log odds -1.749 and .375 at -1.386 and 1.386, so even odds are at .897, a confidence of .71.
    """
    some = [
        Example("made", "", "pictures", {"confidence": confidence}, number < right, answerable=number < 27)
        for confidence, right in ((0.2, 6), (0.8, 24))
        for number in range(30)
    ]
    assert threshold(some, "granted") == 0.33
    assert threshold(some, "ordinal") == 0.51
    assert threshold(some, "surely") == 0.71
