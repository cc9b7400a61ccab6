import pytest

from streamflow.text.sentence_lengths import forced_cut


@pytest.mark.parametrize(
    ("text", "limit", "left"),
    [
        ("one two, three four five six", 20, "one two, "),
        ("one two three four five six", 20, "one two three four "),
        ("a, bcdefghi jklmnopqrst", 20, "a, bcdefghi "),  # a clause mark right at the start is no good place
        ("价格是一千元，我们今天去公园玩", 12, "价格是一千元，"),
        ("1,000,000 and 2,000,000", 20, "1,000,000 and "),
        ("abcdefghijklmnopqrstuvwxyz", 20, "abcdefghijklmnopqrst"),
        ("abc 123456789012345678901234567890", 20, "abc "),
        ("abcdef123456", 9, "abcdef"),
        ("   abcdef", 5, "   ab"),
    ],
)
def test_an_overlong_text_is_cut_at_the_best_place(text, limit, left):
    assert text[: forced_cut(text, 0, limit, lines=False)] == left


def test_code_is_cut_between_its_lines():
    code = "first = 1, 2\nsecond = 3\nthird = 4, 5"
    assert code[: forced_cut(code, 0, 30, lines=True)] == "first = 1, 2\nsecond = 3\n"
