"""Two streams as one: no word twice, none missing, never inside a call."""

from collections.abc import Callable
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable

import streamflow as sf
from streamflow.events import Chunk, Notice, Retrying, StreamCompleted, StreamStart
from streamflow.operators import seam, sentence_segment, visible_filter
from streamflow.testing import Answer, Text, Thinking, ToolUse, assert_grammar, encode

SENTENCES = [
    "It was late when the old ship came in.",
    "Nobody on the quay knew her name, although all her lamps were burning.",
    "A man stood at the rail who lifted his hat slowly.",
    "We had met before, in better times.",
]
TEXT = " ".join(SENTENCES)
WORDS = TEXT.split()


def stream(*parts: Any, provider: str = "openai") -> Observable[Any]:
    return rx.from_iterable(sf.decode(provider, encode(provider, Answer(*parts))))


def broken(*parts: Any, after: int, provider: str = "openai") -> Observable[Any]:
    """A real stream that is cut after so many characters of its text."""
    wire = b"".join(encode(provider, Answer(*parts, delta=1)))
    events = sf.decode(provider, wire)
    seen = 0
    for place, event in enumerate(events):
        if isinstance(event, Chunk) and event.kind in ("text", "tool_call"):
            if seen == after:
                closing = [block for block in sf.collect(events[:place]).blocks if block.incomplete]
                return rx.concat(rx.from_iterable([*events[:place], *closing]), rx.throw(sf.StreamTruncated("cut")))
            seen += len(event.text)
    raise AssertionError("the stream has no such place")


def run(source: Observable[Any], *operators: Any) -> tuple[list[Any], Exception | None]:
    seen: list[Any] = []
    errors: list[Exception] = []
    source.pipe(*operators).subscribe(seen.append, errors.append)
    return seen, errors[0] if errors else None


def shown(events: list[Any]) -> str:
    """What a screen shows in the end, which obeys ``discard``."""
    text = ""
    for event in events:
        if isinstance(event, Retrying) and event.discard:
            text = ""
        elif isinstance(event, Chunk) and event.visible:
            text += event.text
    return text


@pytest.mark.parametrize("repeated", range(21))
@pytest.mark.parametrize("mode", ["prefill", "sentence", "restart"])
@pytest.mark.parametrize("cut", [len(" ".join(WORDS[:22])), len(" ".join(WORDS[:30])), len(" ".join(SENTENCES[:3]))])
def test_a_second_source_that_repeats_the_last_words(repeated: int, mode: Any, cut: int) -> None:
    asked: list[str] = []

    def next_source(partial: sf.Response) -> Observable[Any]:
        asked.append(partial.text)
        if mode == "restart":
            return stream(TEXT)
        before = partial.text
        words = before.split()
        again = " ".join(words[len(words) - min(repeated, len(words)) :])
        return stream(Text(again + TEXT[len(before.rstrip()) :]))

    events, error = run(broken(TEXT, after=cut), seam(next_source, mode))
    assert error is None
    assert_grammar(events)
    assert shown(events) == TEXT
    assert TEXT.startswith(asked[0])
    assert [event.raw["mode"] for event in events if isinstance(event, Notice) and event.code == "seam"] == [mode]


def test_the_cut_may_be_at_any_character() -> None:
    for cut in range(1, len(TEXT)):
        source = broken(TEXT, after=cut)
        events, error = run(source, seam(lambda partial: stream(Text(TEXT[len(partial.text) :])), "prefill"))
        assert error is None
        assert shown(events) == TEXT


def spoken(events: list[Any]) -> list[str]:
    return [item.text for item in sf.run(events, sentence_segment()) if isinstance(item, sf.Sentence)]


def test_by_sentence_a_voice_never_hears_half_a_sentence() -> None:
    for cut in range(1, len(TEXT), 7):
        source = broken(TEXT, after=cut)
        events, _ = run(source, seam(lambda partial: stream(Text(TEXT[len(partial.text) :])), "sentence"))
        assert "".join(spoken(events)) == shown(events) == TEXT
        assert all(sentence.rstrip().endswith(".") for sentence in spoken(events))
        place = next(event.raw["offset"] for event in events if isinstance(event, Notice))
        assert TEXT[:place].rstrip()[-1:] in ("", ".")


def test_offsets_are_those_of_the_joined_text() -> None:
    events, _ = run(broken(TEXT, after=40), seam(lambda partial: stream(Text("ship " + TEXT[len(partial.text) :]))))
    text = shown(events)
    for event in events:
        if isinstance(event, Chunk) and event.start >= 0:
            assert text[event.start : event.start + len(event.text)] == event.text


def test_thoughts_of_the_second_source_pass() -> None:
    events, _ = run(
        broken(TEXT, after=40, provider="anthropic"),
        seam(lambda partial: stream(Thinking("Hm"), Text(TEXT[40:]), provider="anthropic")),
    )
    assert sf.collect(events).thinking == "Hm"
    assert shown(events) == TEXT


@pytest.mark.parametrize("mode", ["prefill", "sentence", "restart"])
def test_never_inside_a_call(mode: Any) -> None:
    whole = Answer(Text("Let me see."), ToolUse("weather", {"city": "Rome"}), delta=1)
    events = sf.decode("anthropic", b"".join(encode("anthropic", whole)))
    first_call = next(i for i, event in enumerate(events) if getattr(event, "kind", "") == "tool_call")
    for place in range(first_call + 1, len(events) - 1):
        source = rx.concat(rx.from_iterable(events[:place]), rx.throw(sf.StreamTruncated("cut")))
        seen, error = run(source, seam(lambda partial: stream("never"), mode))
        assert isinstance(error, sf.StreamTruncated)
        assert "never" not in shown(seen)
        assert shown(seen) == "Let me see."


def test_a_stream_that_does_not_break_is_untouched() -> None:
    plain, _ = run(stream(TEXT))
    for mode in ("prefill", "restart"):
        assert run(stream(TEXT), seam(stream("never"), mode))[0] == plain  # type: ignore[arg-type]
    by_sentence, _ = run(stream(TEXT), seam(stream("never"), "sentence"))
    assert_grammar(by_sentence)
    assert shown(by_sentence) == TEXT


def test_nothing_was_said_yet() -> None:
    source = rx.throw(sf.ProviderError("overloaded", status=529))
    events, error = run(source, seam(stream(TEXT)))
    assert error is None
    assert isinstance(events[0], StreamStart)
    assert shown(events) == TEXT


def test_the_second_source_may_break_too() -> None:
    events, error = run(broken(TEXT, after=40), seam(lambda partial: broken(Text(TEXT[40:]), after=10)))
    assert isinstance(error, sf.StreamTruncated)
    assert error.partial is not None
    assert error.partial.text == shown(events) == TEXT[:50]
    assert error.emitted


def test_a_third_source_can_follow_the_second() -> None:
    def rest(partial: sf.Response) -> Observable[Any]:
        return stream(Text(TEXT[len(partial.text) :]))

    events, error = run(broken(TEXT, after=40), seam(lambda partial: broken(Text(TEXT[40:]), after=10)), seam(rest))
    assert error is None
    assert_grammar(events)
    assert shown(events) == TEXT


def test_faults_of_others_are_not_joined() -> None:
    for fault in (ValueError("mine"), sf.UsageError("wrong")):
        _, error = run(rx.concat(stream("a"), rx.throw(fault)), seam(stream("never")))
        assert error is fault


def test_a_list_of_events_will_do_and_a_fault_of_the_function_is_the_streams() -> None:
    rest = sf.decode("openai", encode("openai", Answer(Text(TEXT[40:]))))
    assert shown(run(broken(TEXT, after=40), seam(lambda partial: rest))[0]) == TEXT

    def fails(partial: sf.Response) -> Any:
        raise RuntimeError("no second provider")

    assert isinstance(run(broken(TEXT, after=40), seam(fails))[1], RuntimeError)


def test_a_response_that_the_client_filled_in_is_filled_in_again() -> None:
    def next_source(partial: sf.Response) -> list[Any]:
        events = sf.decode("openai", encode("openai", Answer(Text(TEXT[40:]))))
        return [*events[:-1], StreamCompleted("end_turn", "stop", sf.collect(events))]

    events, _ = run(broken(TEXT, after=40), seam(next_source))
    assert events[-1].response.text == TEXT
    assert events[-1].response.complete


def test_leaving_ends_the_second_source() -> None:
    subject: rx.Subject[Any] = rx.Subject()
    seen: list[Any] = []
    subscription = broken(TEXT, after=40).pipe(seam(subject), visible_filter()).subscribe(seen.append)
    assert len(subject.observers) == 1
    subscription.dispose()
    assert len(subject.observers) == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [(lambda: seam(rx.never(), "again"), "'restart', 'prefill', 'sentence'"), (lambda: seam(5), "an Observable")],  # type: ignore[arg-type]
)
def test_wrong_options(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(sf.UsageError, match=words):
        make()
