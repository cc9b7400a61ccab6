import pytest

from streamflow.text.sentence_reader import NeedMore, Reader, last_part


def reader_of(text, final=False):
    reader = Reader()
    reader.text, reader.final = text, final
    return reader


def test_behind_the_text_more_is_needed_and_behind_a_complete_text_is_nothing():
    with pytest.raises(NeedMore):
        reader_of("ab").peek(2)
    assert reader_of("ab", final=True).peek(2) == ""


def test_nothing_is_read_from_the_bound_on():
    reader = reader_of("abc   def")
    reader.bound = 4
    assert reader.peek(4) == ""
    assert reader.skip_space(3) == 4
    assert reader.word_at(0) == "abc"


def test_a_run_that_may_go_on_is_waited_for():
    with pytest.raises(NeedMore):
        reader_of("a  ").skip_space(1)
    assert reader_of("a  b").skip_space(1) == 3
    assert reader_of("a  ", final=True).skip_space(1) == 3


@pytest.mark.parametrize(
    ("text", "end"),
    [("<b>x", 3), ("</b>x", 4), ('<a href="x">y', 12), ("< b", 0), ("<5 x", 0), ("<b\nc>", 0), ("x", 0)],
)
def test_a_tag_is_skipped_whole_or_not_at_all(text, end):
    assert reader_of(text + " ").skip_tag(0) == end


def test_what_opens_a_sentence_is_skipped():
    assert reader_of('**"<b>(Word').skip_opening(0) == 7


def test_words_before_a_place_stop_at_the_start_of_the_sentence():
    reader = reader_of("One. See (p. 5")
    reader.start = 5
    assert reader.words_before(11) == ["See", "(p"]
    assert reader.word_before(11) == "p"
    assert reader.before(5) == " "
    assert reader.before(6) == "S"


@pytest.mark.parametrize(
    ("word", "part"), [("l'Ing", "Ing"), ("and/or", "or"), ("Dipl.-Ing", "Ing"), ("JPEG-fil", "JPEG-fil")]
)
def test_the_last_part_of_a_word(word, part):
    assert last_part(word) == part
