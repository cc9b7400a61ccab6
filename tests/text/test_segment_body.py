"""Marker lines around a body: found at the beginning and the end only, at every cut."""

import random

import pytest

from streamflow.text.segment_body import MAX_BLANKS, SegmentBody
from tests.support.cuts import at_random, single, two_way

MARKERS = (("__START_PATCH__", "__END_PATCH__"), ("__START_CONTENT__", "__END_CONTENT__"))


def content(pieces, closed=True):
    body = SegmentBody(MARKERS)
    return "".join(body.feed(piece) for piece in pieces) + body.flush(closed)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("  \n", "  \n"),
        ("__START_CONTENT__\nx\n__END_CONTENT__", "x\n"),
        ("\n__START_CONTENT__\r\nx__END_CONTENT__\n  ", "x"),
        ("__START_CONTENT__\n\nx\n", "\nx\n"),
        ("__START_CONTENT__x </arg> y__END_CONTENT__", "x </arg> y"),
        ("__START_PATCH__\n-a\n+b\n__END_PATCH__\n", "-a\n+b\n"),
        ("__START_PATCH__\n__END_CONTENT__\n", "__END_CONTENT__\n"),
        ("__START_CONTENT__\na __END_CONTENT__ b__END_CONTENT__", "a __END_CONTENT__ b"),
        ("__START_CONTENT____END_CONTENT____END_CONTENT__", "__END_CONTENT__"),
        ("__START_CONTENT__x__END_CONTENT___", "x__END_CONTENT___"),
        ("hello __START_CONTENT__ x", "hello __START_CONTENT__ x"),
        ("__START_CONTENT", "__START_CONTENT"),
        ("__START_CONTENT__", ""),
        ("__START_CONTENT__\r", "\r"),
        ("__START_CONTENT__\rx", "\rx"),
        ("x__END_CONTENT__", "x__END_CONTENT__"),
        (" " * (MAX_BLANKS + 1) + "__START_CONTENT__x", " " * (MAX_BLANKS + 1) + "__START_CONTENT__x"),
        ("__START_CONTENT__x__END_CONTENT__" + " " * (MAX_BLANKS + 1), "x__END_CONTENT__" + " " * (MAX_BLANKS + 1)),
    ],
)
def test_the_same_content_at_every_cut(body, expected):
    rng = random.Random(1)
    cuts = [[body], single(body), *two_way(body), *(at_random(body, rng) for _ in range(30))]
    assert {content(pieces) for pieces in cuts} == {expected}


def test_a_cut_body_loses_nothing():
    for pieces in (["__START_CONTENT__\nx__END_CONTENT__"], single("__START_CONTENT__\nx__END_CONTENT__")):
        assert content(pieces, closed=False) == "x__END_CONTENT__"


def test_only_what_may_be_a_marker_waits():
    body = SegmentBody(MARKERS)
    assert body.feed("__START_CONTENT__\nabc_") == "abc"
    assert body.feed("d __END") == "_d "
    assert body.feed("x") == "__ENDx"
    assert SegmentBody(MARKERS).feed("abc") == "abc"
    assert SegmentBody(()).feed("__START_CONTENT__") == "__START_CONTENT__"


def test_cost_is_linear():
    body = SegmentBody(MARKERS)
    body.feed("__START_CONTENT__")
    assert sum(len(body.feed("_ ")) for _ in range(20000)) == 40000
