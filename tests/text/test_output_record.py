"""What left an operator can be closed and folded at any moment."""

from streamflow.errors import StreamTruncated
from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart
from streamflow.fold import CUT_CALL
from streamflow.text.output_record import OutputRecord


def filled():
    record = OutputRecord()
    for event in (
        StreamStart("1"),
        BlockStart(0, "text"),
        Chunk(0, "text", "Hel"),
        BlockStart(1, "tool_call", {"call": "custom"}),
        Chunk(1, "tool_call", "f", False, part="name", tool_name="f"),
        Chunk(1, "tool_call", "{", False, part="input", tool_id="c"),
        Chunk(7, "text", "without a start"),
    ):
        record.add(event)
    return record


def test_a_cut_closes_what_began_and_nothing_else():
    text, call = filled().cut()
    assert text == BlockComplete(0, "text", "Hel", incomplete=True)
    assert (call.content, call.tool_id, call.tool_name, call.error) == ("{", "c", "f", CUT_CALL)
    assert call.attributes == {"call": "custom"}


def test_a_block_can_be_closed_properly():
    record = filled()
    assert record.close(0) == [BlockComplete(0, "text", "Hel")]
    assert record.close(0) == record.close(7) == []


def test_the_partial_answer_is_what_left():
    record = filled()
    record.cut()
    error = StreamTruncated("cut")
    assert (record.partial(error).text, record.partial(error).error) == ("Hel", error)
    assert record.emitted


def test_only_an_end_with_an_answer_gets_a_new_one():
    record = filled()
    record.close(0)
    assert record.end(StreamCompleted()).response is None
    assert record.end(StreamCompleted(response=record.partial(ValueError()))).response.text == "Hel"


def test_what_everyone_forgets_is_forgotten():
    record = filled()
    record.forget()
    assert record.cut() == []
    assert not record.emitted
