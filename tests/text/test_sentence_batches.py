import pytest

from streamflow.errors import UsageError
from streamflow.text.sentence_batches import SentenceBatcher


def batches(pieces, **options):
    batcher = SentenceBatcher(**options)
    return [batch for piece in pieces for batch in batcher.add(piece)] + batcher.flush()


def test_the_first_sentence_leaves_at_once_and_short_ones_are_joined():
    pieces = ["Yes. ", "It is. ", "I am sure of it now. ", "Good. ", "Bye."]
    assert batches(pieces, min_chars=20) == ["Yes. ", "It is. I am sure of it now. ", "Good. Bye."]


def test_a_sentence_of_exactly_the_least_length_still_waits():
    assert batches(["A. ", "1234567890", "B."], min_chars=10) == ["A. ", "1234567890B."]


def test_nothing_is_joined_without_a_least_length():
    assert batches(["A. ", "B. ", "C."], min_chars=0) == ["A. ", "B. ", "C."]


def test_white_space_waits_for_words():
    assert batches(["  ", "A. ", "\n", "B."], min_chars=0) == ["  A. ", "\nB."]
    assert batches(["  "], min_chars=0) == ["  "]


def test_after_a_flush_the_first_leaves_at_once_again():
    batcher = SentenceBatcher(min_chars=20)
    assert batcher.add("One. ") == ["One. "]
    assert batcher.add("Two. ") == []
    assert batcher.flush() == ["Two. "]
    assert batcher.add("Three. ") == ["Three. "]


def test_a_batch_is_longer_than_the_least_and_never_longer_than_the_most():
    batcher = SentenceBatcher(min_chars=10, max_chars=20)
    added = ["One. ", "Two. ", "Three four five six. ", "  ", "Seven eight nine. "]
    batches = [batch for piece in added for batch in batcher.add(piece)] + batcher.flush()
    assert "".join(batches) == "".join(added)
    assert batches == ["One. ", "Two. ", "Three four five six. ", "  Seven eight nine. "]


def test_a_negative_least_is_told():
    with pytest.raises(UsageError, match="min_chars"):
        SentenceBatcher(-1)
