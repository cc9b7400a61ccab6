"""The live figure: it moves with the stream, runs again at other speeds and cuts, and leaves nothing behind."""

import asyncio
import queue
import sys

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.events import Chunk
from streamflow.notebook import Graph, Marbles
from streamflow.notebook.reruns import Reruns, fingerprint, recut
from streamflow.operators import sentence_segment, visible_filter, xml_block_split
from streamflow.recordings import Piece
from streamflow.testing import run_virtually
from tests.notebook.streams import probe, recording

CHAIN = (visible_filter(), sentence_segment("en", min_chars=0))


def test_it_is_drawn_again_while_the_stream_runs_in_its_own_time():
    async def main():
        loop = asyncio.get_running_loop()
        moments = []
        reruns = Reruns(probe(), lambda: moments.append((round(loop.time(), 1), len(reruns.outputs))))
        reruns.start(speed=1)
        assert reruns.state == "running"
        assert await reruns.finished() == "done"
        return moments, loop.time(), reruns.recording.end_t

    moments, lasted, expected = run_virtually(main())
    assert lasted >= expected
    counts = [count for _, count in moments]
    assert len(moments) > 5
    assert counts == sorted(counts)


@pytest.mark.parametrize("speed", [0, 10])
@pytest.mark.parametrize("size", [0, 1, 7, 1024])
def test_another_speed_or_cut_gives_the_same_output(speed, size):
    watched = probe()
    first = fingerprint([item for _, item in watched.stages[-1].outputs()])

    async def main():
        reruns = Reruns(watched, lambda: None)
        reruns.start(speed, size)
        await reruns.finished()
        return reruns

    reruns = run_virtually(main())
    assert reruns.fingerprint == first
    if size:
        assert reruns.probe.stages[0].items_in == -(-len(recording().data) // size)


def test_a_fault_that_depends_on_the_cut_shows():
    class Blind:
        def feed(self, item):
            return [Chunk(0, "text", item.replace("<b>", ""))]

        def flush(self):
            return []

        def abort(self, error):
            return []

    watched = sf.probe(sf.lift(Blind, "blind"))
    sf.run(["a<b>c"], *watched.operators)
    live = Marbles(watched).live(speed=0)
    assert live.same
    live.piece_size = 1
    assert not live.same
    live.piece_size = 0
    assert live.same


def test_the_widget_follows_its_sliders():
    live = Marbles(probe()).live(speed=0)
    assert (live.state, live.same) == ("done", True)
    before = live.fingerprint
    for size in (1, 3, 64):
        live.piece_size = size
        assert live.pieces == -(-len(recording().data) // size)
    live.speed = 0.0
    live.replays += 1
    assert (live.state, live.same, live.fingerprint) == ("done", True, before)
    assert "Rome is sunny." in live.output
    assert live.svg.startswith("<svg")
    live.close()


def test_a_page_without_widgets_shows_the_drawing():
    bundle, _ = Marbles(probe()).live(speed=0)._repr_mimebundle_()
    assert bundle["text/html"].startswith("<svg")
    assert Graph(probe()).live(speed=0)._repr_mimebundle_()[0]["text/html"].startswith("<svg")


def test_a_stream_that_has_not_run_is_subscribed_to_once_and_left():
    source = rx.subject.Subject()
    watched = sf.probe(source.pipe(*CHAIN))
    live = Marbles(watched).live()
    assert len(source.observers) == 1
    source.on_next(Chunk(0, "text", "Hello there. ", start=0))
    again = Marbles(watched).live(speed=0)  # it has run, so this one runs what came
    assert not source.observers
    assert (live.state, again.state) == ("stopped", "done")
    third = Marbles(sf.probe(source.pipe(*CHAIN))).live()
    third.close()
    assert not source.observers


def test_a_stream_that_fails_says_so():
    source = rx.subject.Subject()
    live = Marbles(sf.probe(source.pipe(*CHAIN))).live()
    source.on_next(Chunk(0, "text", "Hel", start=0))
    source.on_error(sf.StreamStalled("silence"))
    assert live.state == "failed: StreamStalled: silence"


def test_items_that_cannot_be_cut_stay():
    chunks = sf.Recording("", (Piece(0.0, Chunk(0, "text", "abc")),))
    assert recut(chunks, 1) == chunks
    assert recut(sf.Recording(""), 3).pieces == ()


def test_without_the_extra_its_name_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "streamflow.notebook.widget", raising=False)
    with pytest.raises(sf.UsageError, match=r"streamflow-rx\[notebook\]"):
        Marbles(probe()).live()


@pytest.mark.parametrize("speed", [-1, "fast", True])
def test_wrong_use_says_what_to_do(speed):
    with pytest.raises(sf.UsageError, match="speed"):
        Marbles(probe()).live(speed=speed)
    with pytest.raises(sf.UsageError, match="no source"):
        Marbles(sf.probe(xml_block_split())).live()
    with pytest.raises(sf.UsageError, match="only the graph of a probe"):
        Graph(sf.Flow([])).live()


# -- in a kernel


class Kernel:
    """A real one, driven as a front end does it."""

    def __init__(self, manager, client):
        self.manager, self.client = manager, client

    def send(self, code):
        return self.client.execute(code)

    def wait_for(self, words):
        """Until the cell under way prints them."""
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if words in message["content"].get("text", ""):
                return

    def reply(self):
        return self.client.get_shell_msg(timeout=120)["content"]

    def value(self, code):
        """What an expression is."""
        message = self.client.execute("", user_expressions={"x": code})
        while True:
            reply = self.client.get_shell_msg(timeout=120)
            if reply["parent_header"]["msg_id"] == message:
                return reply["content"]["user_expressions"]["x"]["data"]["text/plain"]

    def run(self, code):
        self.send(code)
        answer = self.reply()
        assert answer["status"] == "ok", answer
        return answer


@pytest.fixture(scope="module")
def kernel():
    pytest.importorskip("ipykernel")
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    made = Kernel(manager, client)
    made.run(
        "import reactivex as rx, streamflow as sf\n"
        "from streamflow.events import Chunk\n"
        "from streamflow.notebook import Marbles\n"
        "from streamflow.operators import visible_filter\n"
        "SOURCE = rx.subject.Subject()"
    )
    yield made
    try:
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


CELL = "live = Marbles(sf.probe(SOURCE.pipe(visible_filter()))).live()"


@pytest.mark.filterwarnings("default")
def test_running_a_cell_again_leaves_no_old_subscription(kernel):
    for _ in range(3):
        kernel.run(CELL)
        assert kernel.value("len(SOURCE.observers)") == "1"
    kernel.run("live.close()")
    assert kernel.value("len(SOURCE.observers)") == "0"


@pytest.mark.filterwarnings("default")
def test_top_level_await_and_interrupt(kernel):
    kernel.run(
        f"{CELL}\nSOURCE.on_next(Chunk(0, 'text', 'a', start=0))\nSOURCE.on_completed()\nstate = await live.finished()"
    )
    assert kernel.value("state") == "'done'"
    kernel.run("SOURCE = rx.subject.Subject()")
    kernel.send(f"{CELL}\nprint('waiting', flush=True)\nawait live.finished()")
    kernel.wait_for("waiting")
    kernel.manager.interrupt_kernel()
    assert kernel.reply()["status"] == "error"
    assert kernel.value("(live.state, len(SOURCE.observers))") == "('stopped', 0)"
    with pytest.raises(queue.Empty):
        kernel.client.get_shell_msg(timeout=0)
