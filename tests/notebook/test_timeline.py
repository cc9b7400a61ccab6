"""The timeline: when the first of each kind came, exactly; several compared."""

import pytest

import streamflow as sf
from streamflow.audio import Wave
from streamflow.events import Chunk, Sentence, Stamped
from streamflow.notebook import Timeline
from streamflow.recordings import Piece
from streamflow.testing import Answer, Thinking, encode
from tests.notebook.streams import probe, recording


def test_the_milestones_of_a_recording():
    frames = encode("anthropic", Answer(Thinking("Hm."), "Rome is warm. Go!"))
    timed = sf.Recording(
        "anthropic", tuple(Piece(0.5 + place, frame) for place, frame in enumerate(frames)), end_t=99.0
    )
    events = [sf.decode("anthropic", frames[: place + 1]) for place in range(len(frames))]

    def first(test):
        return next(0.5 + place for place, some in enumerate(events) if any(map(test, some)))

    (row,) = Timeline(timed).table()
    assert row["name"] == "anthropic"
    assert row["first byte"] == 0.5
    assert row["first thinking"] == first(lambda event: isinstance(event, Chunk) and event.kind == "thinking")
    assert row["first visible"] == first(lambda event: isinstance(event, Chunk) and event.visible)
    assert row["first visible"] < row["first sentence"] < row["end"]
    assert row["first audio"] is None
    assert row["end"] == 99.0


def test_several_are_compared_by_name():
    timeline = Timeline(recording(), recording("openai", "Hi there.", first_s=0.7), mine=recording("gemini", "Hello."))
    assert [row["name"] for row in timeline.table()] == ["anthropic", "openai", "mine"]
    svg = timeline.svg()
    assert all(f">{name}</text>" in svg for name in ("anthropic", "openai", "mine", "first visible", "first sentence"))
    assert svg.count('font-weight="600"') >= 3  # the best of each column stands out


def test_sound_counts_and_so_do_stamped_events():
    segment = sf.AudioSegment.of(Sentence(0, "Hi."), Wave(8000, 1, 2, bytes(8000)).file())
    (row,) = Timeline([Stamped(0, 0.1, Chunk(0, "text", "Hi.")), Stamped(1, 0.4, segment)]).table()
    assert (row["first visible"], row["first audio"]) == (0.1, 0.4)


def test_a_probe_has_a_timeline_too():
    (row,) = Timeline(chain=probe()).table()
    assert row["first byte"] == 0
    assert 0 < row["first visible"] < row["end"]


def test_a_cut_stream_does_not_look_finished():
    whole = recording("openai", "Rome is sunny.")
    cut = sf.Recording("openai", whole.pieces[:3], "cut", whole.pieces[2].t)
    assert "cut or failed" in Timeline(cut).svg()
    assert "cut or failed" not in Timeline(whole).svg()


@pytest.mark.parametrize("sources", [(), ([1, 2],)])
def test_wrong_use_says_what_to_do(sources):
    with pytest.raises(sf.UsageError, match=r"(?i)timeline"):
        Timeline(*sources)
