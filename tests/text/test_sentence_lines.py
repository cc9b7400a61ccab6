import pytest

from streamflow.text.language_data import language
from streamflow.text.sentence_lines import Line, Marker, Wrapping, fence_end, marker_at, next_item, starts_block
from streamflow.text.sentence_reader import NeedMore, Reader


def reader_of(text, final=True):
    reader = Reader()
    reader.text, reader.final = text, final
    return reader


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("1. One", (".", "1", 2)),
        ("12) One", (")", "12", 3)),
        ("1.) One", (".)", "1", 3)),
        ("(iv) One", ("()", "iv", 4)),
        ("b. One", (".", "b", 2)),
        ("- One", ("bullet", "-", 1)),
        ("• One", ("bullet", "•", 1)),
        ("⁃9. One", (".", "9", 3)),
        ("1、一", ("、", "1", 2)),
        ("1.5 is", None),
        ("-5 degrees", None),
        ("1999. That year", None),
        ("word) x", None),
        ("Hello", None),
    ],
)
def test_a_list_marker_is_read(text, marker):
    assert marker_at(reader_of(text), 0) == (marker and Marker(*marker))


def test_a_marker_that_has_not_come_whole_is_waited_for():
    with pytest.raises(NeedMore):
        marker_at(reader_of("1", final=False), 0)


@pytest.mark.parametrize(
    ("earlier", "later", "follows"),
    [("1", "2", True), ("9", "10", True), ("a", "b", True), ("3", "1", True), ("1", "3", False), ("a", "2", False)],
)
def test_a_list_goes_on_by_one_or_starts_again(earlier, later, follows):
    assert Marker(")", later, 0).follows(Marker(")", earlier, 0)) is follows
    assert not Marker(".", later, 0).follows(Marker(")", earlier, 0))


def test_the_next_item_of_a_list_in_one_line_is_found():
    text = "1) Wash it 2) Cook it"
    assert next_item(reader_of(text), text.index("2") + 1, Marker(")", "1", 2), frozenset()) == text.index("2")
    text = "1. Go to step 2. Then"
    assert next_item(reader_of(text), text.index("2") + 1, Marker(".", "1", 2), frozenset({"step"})) == 0


@pytest.mark.parametrize("line", ["- x", "1. x", "# x", "| x", "> x", "```py", "~~~", "$$x", "\\[x", "<p>"])
def test_a_block_starts_with_its_sign(line):
    assert starts_block(reader_of(line), 0)


@pytest.mark.parametrize("line", ["x", "#x", "``x``", "-5", "$5", "\\x", "1.5"])
def test_other_lines_start_no_block(line):
    assert not starts_block(reader_of(line), 0)


def test_a_fence_is_closed_by_its_own_sign_alone_in_a_line():
    assert fence_end(reader_of("\n```\nx"), 0, "```") == 4
    assert fence_end(reader_of("\n  ````  \nx"), 0, "```") == 9
    assert fence_end(reader_of("\n~~~\nx"), 0, "```") == 0
    assert fence_end(reader_of("\n```py\nx"), 0, "```") == 0


@pytest.mark.parametrize(
    ("first", "second", "goes_on"),
    [
        ("It was a cold ", "night", True),
        ("features", "contact manager", False),
        ("one, two,", "three", True),
        ("The committee met on Monday to talk about the future of", "River Road", True),
        ("The committee met on Monday to talk about bridges and", "roads", True),
        ("Title of a Long Chapter about Many Different Things", "The text", False),
        ("Here is the list of all the things that we need for it:", "The first", False),
        ("contact us for pricing", ". Then", True),
        ("W", "A", True),
    ],
)
def test_a_line_goes_on_when_it_was_full(first, second, goes_on):
    text = f"{first}\n{second}"
    line = Line(0, len(first), len(first) + 1, is_item=False)
    assert Wrapping().goes_on(reader_of(text), line, language("en")) is goes_on
