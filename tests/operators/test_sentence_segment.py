import random

import pytest
import reactivex as rx
from reactivex.testing import TestScheduler

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Retrying,
    Sentence,
    StreamCompleted,
    StreamStart,
    ToolCallsReady,
    Usage,
)
from streamflow.operators import sentence_segment, speakable
from tests.support.cuts import at_random, single, two_way

TEXT = 'Dr. Lee paid $3.50. "Was it worth it?" she asked. See v2.0.1 at https://a.b/c.d. It was… fine! 🎉 Then we left.'
EXPECTED = [
    "Dr. Lee paid $3.50. ",
    '"Was it worth it?" she asked. ',
    "See v2.0.1 at https://a.b/c.d. ",
    "It was… fine! 🎉 ",
    "Then we left.",
]


def told(items, **options):
    options.setdefault("min_chars", 0)
    return [item for item in sf.run(items, sentence_segment("en", **options)) if isinstance(item, Sentence)]


def texts(items, **options):
    return [sentence.text for sentence in told(items, **options)]


def test_the_same_sentences_at_every_cutting():
    assert texts([TEXT]) == texts(single(TEXT)) == EXPECTED
    for pieces in two_way(TEXT):
        assert texts(pieces) == EXPECTED
    rng = random.Random(5)
    for _ in range(50):
        assert texts(at_random(TEXT, rng)) == EXPECTED


def test_joined_the_sentences_are_the_text_and_their_spans_cover_it():
    sentences = told(single(TEXT))
    assert "".join(sentence.text for sentence in sentences) == TEXT
    assert all(TEXT[sentence.start : sentence.end] == sentence.text for sentence in sentences)


def test_spans_follow_the_offsets_of_the_chunks():
    # Twenty characters of a hidden block lie between the two chunks.
    raw = "One two. Thr" + "#" * 20 + "ee four. Five."
    chunks = [Chunk(0, "text", raw[:12], start=0), Chunk(2, "text", raw[32:], start=32)]
    sentences = told(chunks)
    assert [(s.text, s.start, s.end) for s in sentences] == [
        ("One two. ", 0, 9),
        ("Three four. ", 9, 41),
        ("Five.", 41, 46),
    ]


def test_spans_of_spoken_text_lie_in_the_raw_text():
    raw = "# Plan\nUse **bold** text &amp; more. Then [stop](https://a.b)."
    spoken = sf.run([raw], speakable(), sentence_segment("en", min_chars=0))
    assert [sentence.text for sentence in spoken] == ["Plan.\n", "Use bold text & more. ", "Then stop."]
    assert raw[spoken[1].start : spoken[1].end].strip() == "Use **bold** text &amp; more."
    places = [place for sentence in spoken for place in (sentence.start, sentence.end)]
    assert places == sorted(places)
    assert places[0] >= 0
    assert places[-1] <= len(raw)


MARKDOWN = (
    "# Plan\n\nUse **bold.** Then `a.b` &amp; more! 🎉 See [the docs](https://a.b/c). \n\n1. One. Two.\n2. *Three*\n\n"
    "| a. b | c |\n|---|---|\n| 1.5 | x! |\n\n```py\nprint('Hi. There.')\n```\n\n"
    "It costs $5. Let $x = 1. Y$ be. <b>Done.</b> Bye."
)


def test_spoken_sentences_and_their_spans_are_the_same_at_every_cutting():
    def spoken(pieces):
        out = sf.run(pieces, speakable(), sentence_segment("en", min_chars=0))
        return [(sentence.text, sentence.start, sentence.end) for sentence in out]

    whole = spoken([MARKDOWN])
    places = [place for _, start, end in whole for place in (start, end)]
    assert places == sorted(places)
    assert places[-1] <= len(MARKDOWN)
    assert "".join(text for text, _, _ in whole) == "".join(piece.text for piece in sf.run([MARKDOWN], speakable()))
    rng = random.Random(9)
    for pieces in [single(MARKDOWN), *(at_random(MARKDOWN, rng) for _ in range(30))]:
        assert spoken(pieces) == whole


def test_ids_number_the_sentences_and_share_one_token_a_message():
    tokens = iter(["a", "b"])
    first = [Chunk(0, "text", "One. Two. Three.")]
    items = [StreamStart(), *first, StreamCompleted(), StreamStart(), *first, StreamCompleted()]
    sentences = told(items, ids=lambda: next(tokens))
    assert [s.id for s in sentences] == ["seq1_a", "seq2_a", "seq3_a", "seq1_b", "seq2_b", "seq3_b"]
    assert [s.index for s in sentences] == [0, 1, 2, 0, 1, 2]


def test_the_default_token_is_time_and_hex_and_no_part_of_equality():
    first, second = told(["One."]), told(["One."])
    assert first == second
    number, seconds, salt = first[0].id.split("_")
    assert number == "seq1"
    assert float(seconds) > 0
    assert int(salt, 16) < 65536


def test_the_last_sentence_is_final_and_has_an_id_like_the_others():
    sentences = told(["One. Two. And no period"], ids=lambda: "t")
    assert [s.final for s in sentences] == [False, False, True]
    assert sentences[-1].id == "seq3_t"


def test_short_sentences_are_joined_and_the_first_leaves_at_once():
    text = "Yes. It is. " + "I am quite sure that this sentence is longer than sixty characters. " + "Good. Bye."
    assert texts([text], min_chars=60) == ["Yes. ", text[5:80], "Good. Bye."]


def test_the_first_clause_can_leave_before_the_sentence_is_whole():
    stage = sentence_segment("en", first="clause").make_stage()
    out = []
    for sign in "When you open the window, the cold air comes in. Fine.":
        out += stage.feed(sign)
        if sign == "t" and out:
            break
    assert [s.text for s in out] == ["When you open the window, "]


def test_foreign_events_pass_in_order_and_hidden_text_is_not_spoken():
    items = [
        StreamStart(),
        BlockStart(0, "thinking"),
        Chunk(0, "thinking", "Hm. Well.", visible=False),
        BlockComplete(0, "thinking"),
        BlockStart(1, "text"),
        Chunk(1, "text", "One. Tw"),
        Usage(output_tokens=3),
        Chunk(1, "text", "o."),
        BlockComplete(1, "text"),
        StreamCompleted(),
    ]
    out = sf.run(items, sentence_segment("en", min_chars=0))
    spoken = [item for item in items if isinstance(item, Chunk) and item.visible]
    assert [item for item in out if not isinstance(item, Sentence)] == [item for item in items if item not in spoken]
    assert [type(item).__name__ for item in out[4:]] == [
        "BlockStart",
        "Sentence",
        "Usage",
        "Sentence",
        "BlockComplete",
        "StreamCompleted",
    ]


@pytest.mark.parametrize(
    "ends",
    [
        BlockStart(1, "tool_call"),
        Chunk(1, "tool_call", "{", False, part="input"),
        ToolCallsReady([]),
        StreamCompleted(),
    ],
    ids=lambda item: type(item).__name__,
)
def test_what_ends_the_text_releases_it_first(ends):
    out = sf.run([Chunk(0, "text", "Let me look"), ends], sentence_segment("en"))
    assert [type(item) for item in out] == [Sentence, type(ends)]
    assert out[0].final


def test_counting_goes_on_behind_a_tool_call():
    call = [BlockStart(1, "tool_call"), BlockComplete(1, "tool_call")]
    items = [Chunk(0, "text", "Let me look."), *call, Chunk(2, "text", "Found.")]
    assert [(s.index, s.text) for s in told(items)] == [(0, "Let me look."), (1, "Found.")]


def test_a_sentence_may_go_on_in_the_next_text_block():
    items = [
        BlockStart(0, "text"),
        Chunk(0, "text", "According to "),
        BlockComplete(0, "text"),
        BlockStart(1, "text"),
        Chunk(1, "text", "the report it grew. So"),
        BlockComplete(1, "text"),
        BlockStart(2, "text"),
        Chunk(2, "text", " there."),
        BlockComplete(2, "text"),
    ]
    assert texts(items) == ["According to the report it grew. ", "So there."]


def test_what_is_thrown_away_is_not_spoken():
    again = [Retrying(1, 3, "cut", discard=True), Chunk(0, "text", "Uno. Dos.")]
    items = [StreamStart(), Chunk(0, "text", "One. Tw"), *again]
    assert [(s.index, s.text) for s in told(items)] == [(0, "One. "), (0, "Uno. "), (1, "Dos.")]


def test_white_space_alone_is_not_told():
    assert texts(["  \n "]) == []
    assert texts(["One.  \n \n"]) == ["One.  \n \n"]


def test_an_error_releases_the_rest_before_it_passes():
    seen = []
    source = rx.concat(rx.of("One. Tw"), rx.throw(ValueError("cut")))
    source.pipe(sentence_segment("en", min_chars=0)).subscribe(lambda s: seen.append(s.text), seen.append)
    assert seen[:2] == ["One. ", "Tw"]
    assert isinstance(seen[2], ValueError)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"language": "xx"}, "'en'"),
        ({"first": "word"}, "'clause'"),
        ({"min_chars": -1}, "min_chars"),
        ({"max_chars": 0}, "max_chars"),
        ({"idle_s": 0}, "idle_s"),
    ],
)
def test_wrong_options_are_told_when_the_operator_is_made(options, named):
    with pytest.raises(UsageError, match=named):
        sentence_segment(**options)


def idle_run(events, **options):
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(*events)
    result = scheduler.start(
        lambda: source.pipe(sentence_segment("en", min_chars=0, idle_s=50, **options)), disposed=2000
    )
    return [(message.time, message.value.value.text) for message in result.messages if message.value.kind == "N"]


def test_a_finished_sentence_is_told_when_the_model_pauses():
    on_next = rx.testing.ReactiveTest.on_next
    events = [on_next(210, "One two."), on_next(400, " Three fo"), on_next(600, "ur."), on_next(610, " Five")]
    assert idle_run([*events, rx.testing.ReactiveTest.on_completed(700)]) == [
        (260, "One two."),
        (610, " Three four. "),
        (700, "Five"),
    ]
