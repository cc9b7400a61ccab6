"""The law checker: it finds each of ten planted faults, accuses nobody else, and says in words what is wrong."""

import msgspec
import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as rx_ops

import streamflow as sf
from streamflow import operators as ops
from streamflow.events import METADATA, BlockComplete, Chunk, StreamCompleted, StreamFailed, ToolCallsReady
from streamflow.fold import call_of
from streamflow.stage import lift
from streamflow.testing import LawsBroken, check_operator
from tests.laws.table import present


class Same:
    """Does nothing wrong."""

    def feed(self, item):
        return [item]

    def flush(self):
        return []

    def abort(self, error):
        return self.flush()


class LosesText(Same):
    """Takes a lone "<" for the beginning of a tag, and drops it."""

    def feed(self, item):
        if isinstance(item, Chunk) and item.kind == "text":
            text = item.text.replace("< ", " ")
            return [msgspec.structs.replace(item, text=text)] if text else []
        return [item]


class DependsOnCuts(Same):
    """Looks for a tag in each chunk alone."""

    def feed(self, item):
        if isinstance(item, Chunk) and item.kind == "text" and item.text == "<thinking>":
            return [msgspec.structs.replace(item, visible=False)]
        return [item]


class HoldsTooLong(Same):
    """Keeps the last character until the next one comes."""

    def __init__(self):
        self.held = None

    def release(self):
        ready, self.held = [self.held] if self.held else [], None
        return ready

    def feed(self, item):
        if isinstance(item, METADATA) or type(item).__module__ != "streamflow.events":
            return [item]
        if not isinstance(item, Chunk) or item.kind != "text":
            return [*self.release(), item]
        ready = self.release()
        if len(item.text) > 1:
            ready.append(msgspec.structs.replace(item, text=item.text[:-1]))
        at = item.start + len(item.text) - 1
        self.held = msgspec.structs.replace(item, text=item.text[-1], start=at)
        return ready

    flush = release


class SwallowsForeignEvents(Same):
    def feed(self, item):
        return [item] if type(item).__module__ == "streamflow.events" else []


class EmitsAfterDispose(Observable):
    """Hands its subscriber to the source as it is, and never leaves."""

    def __init__(self, source):
        super().__init__()
        self.source = source

    def subscribe(self, on_next=None, on_error=None, on_completed=None, *, scheduler=None):
        self.source.subscribe(on_next, on_error, on_completed)
        return reactivex.disposable.Disposable()


STATE = {"count": 0}


class SharesState(Same):
    def feed(self, item):
        if isinstance(item, Chunk):
            STATE["count"] += 1
            if STATE["count"] % 5 == 0:
                return [item, sf.events.Notice("fifth")]
        return [item]


class EndsABlockTwice(Same):
    def feed(self, item):
        return [item, item] if isinstance(item, BlockComplete) and item.kind == "thinking" else [item]


class ForgetsToFlush(Same):
    """Holds the beginning of a tag, and forgets about it when the stream ends."""

    def __init__(self):
        self.held = ""

    def feed(self, item):
        if not isinstance(item, str):
            return [item]
        text = self.held + item
        self.held = "<" if text.endswith("<") else ""
        text = text.removesuffix("<")
        return [text] if text else []


class MarksACutCallRunnable(Same):
    """Offers a call as soon as its block ended, without waiting for the end of the stream."""

    def feed(self, item):
        if isinstance(item, BlockComplete) and item.kind == "tool_call" and item.error is None:
            return [item, ToolCallsReady([call_of(item)])]
        return [item]


class ChangesOrder(Same):
    """Gives a chunk after the one that follows it."""

    def __init__(self):
        self.waiting = None

    def feed(self, item):
        if isinstance(item, Chunk) and item.kind == "thinking" and self.waiting is None:
            self.waiting = item
            return []
        if self.waiting is not None and (isinstance(item, Chunk | BlockComplete | StreamFailed | StreamCompleted)):
            waiting, self.waiting = self.waiting, None
            return [item, waiting] if isinstance(item, Chunk) else [waiting, item]
        return [item]


FAULTS = {
    "loses text": (LosesText, "conservation", "came out"),
    "depends on cuts": (DependsOnCuts, "cut invariance", "cut into"),
    "holds too long": (HoldsTooLong, "earliest release", "holds"),
    "swallows foreign events": (SwallowsForeignEvents, "pass-through", "does not know> went in"),
    "emits after dispose": (None, "disposal", "came after dispose"),
    "shares state": (SharesState, "fresh state", "second"),
    "ends a block twice": (EndsABlockTwice, "grammar", "not open"),
    "forgets to flush": (ForgetsToFlush, "conservation", "flush"),
    "marks a cut call runnable": (MarksACutCallRunnable, "ends", "could be run"),
    "changes order": (ChangesOrder, "order", "preceded"),
}


def faulty(stage):
    return (lambda: EmitsAfterDispose) if stage is None else (lambda: lift(stage, "mine"))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(name):
    stage, law, words = FAULTS[name]
    options = {"takes": "strings"} if stage is ForgetsToFlush else {}
    make = faulty(stage)
    with pytest.raises(LawsBroken) as caught:
        check_operator(make, **options)
    report = caught.value.report
    assert law in report.broken, str(report)
    (violation,) = [violation for violation in report.violations if violation.law == law]
    assert words in str(violation)
    assert "BROKEN" in str(caught.value)


@pytest.mark.parametrize("takes", ["events", "strings"])
def test_a_sound_operator_is_not_accused(takes):
    report = check_operator(lambda: lift(Same, "same"), takes=takes)
    assert report.ok
    assert "keeps all 9 laws" in str(report)


def test_the_least_input_is_shown():
    report = check_operator(faulty(ForgetsToFlush), takes="strings", raises=False, laws=["conservation"])
    (violation,) = report.violations
    assert violation.example.items == ["<"]


def test_an_operator_of_reactivex_is_judged_too():
    assert check_operator(lambda: rx_ops.map(lambda item: item)).ok
    report = check_operator(lambda: rx_ops.filter(lambda item: isinstance(item, Chunk)), raises=False)
    assert {"grammar", "pass-through"} <= set(report.broken)
    assert check_operator(lambda: rx_ops.skip(1), raises=False).broken


def test_a_crash_breaks_the_laws_and_is_told():
    class Crashes(Same):
        def feed(self, item):
            return [item] if item.kind else []

    report = check_operator(lambda: lift(Crashes, "crashes"), raises=False, examples=20)
    assert "it raised AttributeError" in str(report)


def test_markers_are_mixed_in_and_may_be_held():
    class ByEquality(Same):
        def feed(self, item):
            return [] if item == "<note>" else [item]

    report = check_operator(lambda: lift(ByEquality, "notes"), takes="strings", markers=["<note>"], raises=False)
    assert "cut invariance" in report.broken
    assert check_operator(lambda: ops.tag_holdback(["note"]), markers=["<note>", "</note>"]).ok
    unexplained = check_operator(lambda: ops.tag_holdback(["thinking"]), raises=False)
    assert unexplained.broken == ["earliest release"]
    assert "markers=" in str(unexplained)


def test_inputs_of_bytes():
    wire = b'data: {"a": 1}\n\nid: 3\ndata: {"b": "\xc3\xa9"}\r\n\r\n: comment\n\n'
    assert check_operator(ops.sse_decode, takes="bytes", gives="other", inputs=[wire]).ok

    class Lines(Same):
        def feed(self, item):
            return item.splitlines()

    assert "cut invariance" in check_operator(
        lambda: lift(Lines, "lines"), takes="bytes", gives="other", inputs=[b"a\nbc\n"], raises=False
    ).broken  # fmt: skip


def test_text_that_is_split_into_blocks():
    tags = ("<thinking>", "</thinking>")
    assert check_operator(ops.xml_block_split, text="split", markers=tags, laws=["cut invariance", "ends"]).ok

    class DropsTags(Same):
        def feed(self, item):
            return [] if item == "x" else [item]

    report = check_operator(lambda: lift(DropsTags, "drops"), takes="strings", text="split", inputs=["x"], raises=False)
    assert "conservation" in report.broken


EVENT_ROWS = [name for name, row in present().items() if row.takes == "events"]


@pytest.mark.parametrize("name", EVENT_ROWS)
def test_our_own_operators_keep_the_laws(name):
    row = present()[name]
    options = {
        "gives": "other" if row.gives == "view" else "events",
        "text": "same" if row.same_text else "changed",
        "forwards": row.forwards,
    }
    # What each of them may hold is proven in tests/laws, marker by marker.
    laws = ["conservation", "cut invariance", "pass-through", "order", "fresh state", "disposal", "ends"]
    assert check_operator(row.makes[0], laws=laws, examples=40, **options).ok


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (ops.sse_decode, {"takes": "bytes"}, "inputs="),
        (ops.redact, {"takes": "words"}, "takes="),
        (ops.visible_filter, {"text": "x"}, "text="),
        (ops.visible_filter, {"laws": ["gravity"]}, "laws="),
        (lambda: 3, {}, "no operator"),
    ],
)
def test_wrong_use_says_what_to_do(make, options, words):
    with pytest.raises(sf.UsageError, match=words):
        check_operator(make, **options)
