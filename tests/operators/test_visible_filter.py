"""What a person should see."""

import streamflow as sf
from streamflow.events import BlockStart, Chunk, Usage
from streamflow.operators import visible_filter


def test_only_visible_chunks_and_plain_strings_pass():
    events = [BlockStart(0, "text"), Chunk(0, "text", "a"), Chunk(1, "thinking", "b", False), Usage(), "c"]
    assert sf.run(events, visible_filter()) == [Chunk(0, "text", "a"), "c"]
