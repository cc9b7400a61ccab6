"""Recordings and probes for the figures: small, offline, on a clock of their own."""

import random

import streamflow as sf
from streamflow.notebook import rehearse
from streamflow.operators import sentence_segment, xml_block_split
from streamflow.recordings import Piece
from streamflow.testing import Answer, Thinking, ToolUse, encode

NASTY = "<script>alert(\"x\")</script> & 'quotes' \x00 \ud83d <thinking>hm</thinking>Rome is sunny. Take a hat!"


def recording(provider="anthropic", *parts, seed=1, first_s=0.3, gap_s=0.05):
    """An answer as this provider sends it, at times that a seed repeats."""
    parts = parts or (
        Thinking("Where is the hat?"),
        "<thinking>Rome.</thinking>Rome is sunny. Take a hat! It is warm.",
        ToolUse("weather", {"city": "Rome"}),
    )
    rng, t, pieces = random.Random(seed), first_s, []
    for frame in encode(provider, Answer(*parts)):
        pieces.append(Piece(round(t, 3), frame))
        t += rng.uniform(0.2, 1.8) * gap_s
    return sf.Recording(provider, tuple(pieces), end_t=round(t, 3))


def probe(*operators, **options):
    """What a chain of four made of it."""
    return rehearse(recording(**options), *(operators or (xml_block_split(), sentence_segment("en", min_chars=0))))
