"""One stream, many subscribers: order, late joiners, faults, ends."""

import asyncio
import gc
import threading

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

import streamflow as sf
from streamflow.events import Chunk, Notice, StreamCompleted, StreamFailed
from streamflow.operators import sse_decode, visible_filter
from streamflow.stage import lift
from streamflow.testing import FakeProvider, Text, run_virtually
from tests.flow.events import Pulled, answer, text_of
from tests.recordings.make import RECORDINGS
from tests.support.grammar import assert_grammar

WIRE = next(recording.wire for recording in RECORDINGS if recording.name == "openai_text")


def text(items) -> str:
    return "".join(item.text for item in items if isinstance(item, Chunk))


def test_a_synchronous_source_runs_once_for_all_and_a_late_branch_reads_the_journal():
    runs = []
    source = rx.defer(lambda _: runs.append(1) or rx.from_iterable(answer(5)))
    flow = sf.Flow(source)
    first, second = [], []
    flow.branch("ui", visible_filter()).subscribe(first.append)
    flow.branch("transcript").subscribe(second.append)
    assert runs == [1]
    assert text(first) == text(second) == text_of(5)
    assert_grammar(second)
    assert second[-1].response.text == text_of(5)


def test_events_are_stamped_without_gaps():
    stamped = []
    sf.Flow(answer(3)).subscribe(stamped.append)
    assert [item.seq for item in stamped] == list(range(len(answer(3))))
    assert all(item.t >= 0 for item in stamped)


def test_common_operators_run_once_and_branches_add_their_own():
    flow = sf.Flow(rx.of(WIRE), sse_decode(), sf.operators.normalize_provider("openai"))
    shown = []
    flow.branch("ui", visible_filter(), ops.map(lambda chunk: chunk.text)).subscribe(shown.append)
    assert "".join(shown) == flow.snapshot().text
    assert flow.snapshot().complete


@pytest.mark.parametrize("place", range(0, 1005, 67))
def test_b4_every_late_joiner_gets_exactly_the_rest(place):
    events = answer(1000)
    source = Subject()
    flow = sf.Flow(source)
    holder = flow.events.subscribe(lambda event: None)
    joined = []
    for number, event in enumerate(events):
        if number == place:
            flow.subscribe(joined.append, after=place - 1)
        source.on_next(event)
    source.on_completed()
    holder.dispose()
    assert [item.seq for item in joined] == list(range(place, len(events)))
    again = []
    flow.subscribe(again.append, after=place - 1)
    assert again == joined


async def test_b4_late_join_at_every_position_while_an_async_source_runs():
    events = answer(1000)
    flow = sf.Flow(Pulled(events))
    joined = [[] for _ in events]
    position = iter(range(len(events)))

    def join(_):
        place = next(position)
        flow.subscribe(joined[place].append, after=place)

    flow.events.subscribe(join)
    await flow.response()
    for place, items in enumerate(joined):
        assert [item.seq for item in items] == list(range(place + 1, len(events)))


def test_a_branch_that_resumes_has_the_state_of_its_operators():
    flow = sf.Flow(answer(4))
    flow.start()
    count = ops.scan(lambda total, _: total + 1, 0)
    branch = flow.branch("count", count)
    whole, rest = [], []
    branch.subscribe(whole.append)
    branch.subscribe(rest.append, after=3)
    assert whole == list(range(1, len(answer(4)) + 1))
    assert rest == whole[4:]


@pytest.mark.parametrize("after", [-2, 99, "x", None, 1.5])
def test_a_place_that_does_not_exist_is_wrong_use(after):
    flow = sf.Flow(answer(1)).start()
    with pytest.raises(sf.UsageError, match="after"):
        flow.subscribe(print, after=after)


def test_b1_a_subscriber_that_raises_is_detached_with_its_own_error():
    seen, errors, others = [], [], []
    source = Subject()
    flow = sf.Flow(source)

    def fail(event):
        seen.append(event)
        if len(seen) == 3:
            raise ValueError("mine")

    flow.branch("a").subscribe(others.append)
    flow.branch("b").subscribe(fail, errors.append)
    flow.branch("c", visible_filter()).subscribe(lambda chunk: 1 / 0)  # without a hook: told to the log
    flow.branch("d").subscribe(others.append)
    for event in answer(5):
        source.on_next(event)
    source.on_completed()
    assert len(seen) == 3
    assert [str(error) for error in errors] == ["mine"]
    assert len(others) == 2 * len(answer(5))


def test_a_failing_operator_ends_its_branch_only():
    flow = sf.Flow(answer(3))
    errors, other = [], []
    flow.branch("bad", ops.map(lambda event: event.no_such_field)).subscribe(print, errors.append)
    flow.branch("good").subscribe(other.append)
    assert isinstance(errors[0], AttributeError)
    assert other[-1].response.complete


def test_an_error_of_the_source_reaches_everybody_and_stays_in_the_journal():
    error = sf.StreamTruncated("cut", provider="test")
    flow = sf.Flow(rx.concat(rx.from_iterable(answer(3)[:3]), rx.throw(error)))
    stamped, seen, errors = [], [], []
    flow.branch("ui").subscribe(seen.append, errors.append)
    flow.subscribe(stamped.append, errors.append)
    assert errors == [error, error]
    assert isinstance(stamped[-1].event, StreamFailed)
    assert stamped[-1].event.partial.text == "word0 "
    assert flow.snapshot().error == error
    assert not flow.snapshot().complete


def test_b2_a_reader_inside_on_next_may_subscribe_dispose_and_emit():
    source = Subject()
    flow = sf.Flow(source)
    first, second, third = [], [], []
    subscriptions = []

    def greedy(event):
        first.append(event)
        if isinstance(event, Notice) and event.code == "1":
            subscriptions.append(flow.events.subscribe(third.append))
            source.on_next(Notice("inner"))
        if isinstance(event, Notice) and event.code == "inner":
            subscriptions[0].dispose()

    flow.events.subscribe(greedy)
    flow.events.subscribe(second.append)
    for code in "123":
        source.on_next(Notice(code))
    assert [event.code for event in first] == [event.code for event in second] == ["1", "inner", "2", "3"]
    assert [event.code for event in third] == ["1"]


def test_b2_four_threads_one_order_nothing_lost():
    source = Subject()
    flow = sf.Flow(source)
    seen = [[] for _ in range(3)]
    for items in seen:
        flow.events.subscribe(items.append)
    echoes = []

    def reentrant(event):
        if event.code == "t0":
            flow.events.pipe(ops.take(1)).subscribe(echoes.append)

    flow.events.subscribe(reentrant)
    threads = [
        threading.Thread(target=lambda name=f"t{number}": [source.on_next(Notice(name, str(i))) for i in range(500)])
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 2000
    for name in ("t0", "t1", "t2", "t3"):
        assert [event.message for event in seen[0] if event.code == name] == [str(i) for i in range(500)]
    assert len(echoes) == 500


def test_b11_dispose_is_idempotent_and_final():
    source = Subject()
    flow = sf.Flow(source)
    flow.events.subscribe(lambda event: None)
    seen = []
    subscription = flow.events.subscribe(lambda event: (seen.append(event), subscription.dispose()))
    source.on_next(Notice("1"))
    source.on_next(Notice("2"))
    subscription.dispose()
    assert [event.code for event in seen] == ["1"]


def test_b5_the_last_one_to_leave_disposes_the_source():
    disposed = []
    source = rx.concat(rx.from_iterable(answer(3)[:3]), rx.never()).pipe(ops.finally_action(lambda: disposed.append(1)))
    flow = sf.Flow(source)
    one = flow.events.subscribe(lambda event: None)
    two = flow.events.subscribe(lambda event: None)
    one.dispose()
    assert disposed == []
    two.dispose()
    assert disposed == [1]
    late = []
    flow.events.subscribe(late.append)
    assert_grammar(late)
    assert (late[-1].stop_reason, late[-1].raw_stop_reason) == ("cancelled", "abandoned")


def test_b5_lingering_waits_for_somebody_to_come_back():
    from reactivex.testing import TestScheduler

    scheduler = TestScheduler()
    disposed = []
    flow = sf.Flow(rx.never().pipe(ops.finally_action(lambda: disposed.append(1))), linger_s=10, scheduler=scheduler)
    flow.events.subscribe(print).dispose()
    scheduler.advance_by(9)
    back = flow.events.subscribe(print)
    scheduler.advance_by(20)
    assert disposed == []
    back.dispose()
    scheduler.advance_by(11)
    assert disposed == [1]


def test_stop_closes_what_is_open_for_everybody():
    source = Subject()
    flow = sf.Flow(source)
    seen = []
    flow.branch("ui").subscribe(seen.append)
    for event in answer(3)[:4]:
        source.on_next(event)
    flow.stop()
    flow.stop()
    source.on_next(Notice("too late"))
    assert_grammar(seen)
    assert seen[-1].stop_reason == "cancelled"
    assert (seen[-1].response.complete, seen[-1].response.text) == (False, "word0 word1 ")
    assert seen[-2].incomplete
    assert flow.ended
    assert not flow.error


def test_stop_before_the_start_is_an_end_too():
    flow = sf.Flow(rx.never())
    flow.stop()
    seen = []
    flow.events.subscribe(seen.append)
    assert [type(event).__name__ for event in seen] == ["StreamStart", "StreamCompleted"]


def test_stopping_releases_what_the_operators_hold():
    source = Subject()
    flow = sf.Flow(source.pipe(sse_decode(tail="deliver"), sf.operators.normalize_provider("openai")))
    seen = []
    flow.events.subscribe(seen.append)
    source.on_next(WIRE[: len(WIRE) // 2])
    flow.stop()
    assert_grammar(seen)
    assert seen[-1].stop_reason == "cancelled"


async def test_response_waits_for_the_end_and_never_raises_for_the_wire():
    flow = sf.Flow(Pulled(answer(10)))
    assert (await flow.response()).text == text_of(10)
    failed = sf.Flow(Pulled(answer(3)[:3], error=sf.StreamTruncated("cut")))
    response = await failed.response()
    assert (response.complete, response.error.type) == (False, "StreamTruncated")


async def test_stopping_an_async_source_closes_it():
    source = Pulled(answer(100))
    flow = sf.Flow(source)
    seen = []
    async for event in flow.branch("ui"):
        seen.append(event)
        if len(seen) == 5:
            flow.stop()
    assert_grammar(seen)
    assert seen[-1].stop_reason == "cancelled"
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert source.closed


async def test_breaking_out_of_the_last_reader_closes_the_source():
    source = Pulled(answer(100))
    flow = sf.Flow(source)
    async for _ in flow.branch("ui"):
        break
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    assert source.closed
    assert flow.snapshot().stop_reason == "cancelled"


def test_an_async_source_without_a_loop_says_what_to_do():
    with pytest.raises(sf.UsageError, match=r"asyncio\.run"):
        sf.Flow(Pulled(answer(1))).start()


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: sf.Flow(17), "Observable"),
        (lambda: sf.Flow("text"), "Observable"),
        (lambda: sf.Flow([], 3), "forget to call"),
        (lambda: sf.Flow([], max_events=0), "max_events"),
        (lambda: sf.Flow([], linger_s=-1), "linger_s"),
        (lambda: sf.Flow([]).branch("a", policy="block"), "sf.conflate"),
        (lambda: sf.Flow([])["nobody"], "nobody"),
        (lambda: sf.drop_oldest(0), "n must be"),
        (lambda: sf.block(max_wait_s=-1), "max_wait_s"),
        (lambda: sf.unbounded(max_bytes="x"), "max_bytes"),
    ],
)
def test_wrong_use_says_what_to_do(make, hint):
    with pytest.raises(sf.UsageError) as caught:
        make()
    assert hint in str(caught.value)


def test_a_name_is_given_once():
    flow = sf.Flow([])
    branch = flow.branch("ui")
    assert flow["ui"] is branch
    with pytest.raises(sf.UsageError, match="already"):
        flow.branch("ui")


def test_the_graph_shows_what_is_connected():
    flow = sf.Flow(answer(2), visible_filter())
    flow.branch("ui", ops.map(str)).subscribe(lambda item: None)
    graph = flow.graph()
    assert (graph.operators, graph.events) == (["visible_filter()"], 2)
    assert "visible_filter()" in graph.mermaid()
    assert "ui (conflate)" in graph.mermaid()
    assert "map() | ui (conflate)" in str(graph)


def test_b12_ten_thousand_subscriptions_leave_nothing_behind():
    flow = sf.Flow(rx.never())
    holder = flow.events.subscribe(print)
    branch = flow.branch("ui", visible_filter())
    for _ in range(10_000):
        branch.subscribe(print).dispose()
    assert flow.subscriber_count == 1
    holder.dispose()
    assert flow.subscriber_count == 0


async def test_b5_a_live_stream_is_shared_and_its_socket_closed_when_all_are_gone():
    async with (
        FakeProvider(sf.testing.Answer(Text("one two three "), sf.testing.Stall())) as fake,
        sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai")) as llm,
    ):
        flow = sf.Flow(llm.stream("hi"), sf.operators.tool_accumulate())
        ui, transcript = flow.branch("ui", visible_filter()), flow.branch("transcript")
        async for chunk in ui:
            assert chunk.text
            break
        async for event in transcript:
            if isinstance(event, Chunk):
                break
        del event, chunk
        gc.collect()
        await asyncio.wait_for(fake.wait_closed(), 5)
        assert len(fake.requests) == 1


def test_virtual_time_is_the_time_of_the_loop():
    async def main():
        flow = sf.Flow(Pulled(answer(3), pause_s=1.0), clock=asyncio.get_running_loop().time)
        stamped = []
        flow.subscribe(stamped.append)
        await flow.response()
        return [item.t for item in stamped]

    assert run_virtually(main()) == [float(second) for second in range(len(answer(3)))]
    assert isinstance(answer(1)[-1], StreamCompleted)


def test_an_observer_object_subscribes_like_its_functions():
    seen = []

    class Watcher:
        def on_next(self, item):
            seen.append(item)

        def on_error(self, error):
            seen.append(error)

        def on_completed(self):
            seen.append("done")

    flow = sf.Flow(answer(3))
    flow.events.subscribe(Watcher())
    flow.branch("ui", visible_filter()).subscribe(Watcher())
    assert seen.count("done") == 2


def test_nothing_follows_a_farewell_inside_a_batch():
    seen = []
    source = Subject()
    flow = sf.Flow(source, lift(Tripled, "tripled"))
    subscriptions = []

    def leave(item):
        seen.append(item)
        subscriptions[0].dispose()

    subscriptions.append(flow.branch("one", lift(Tripled, "tripled")).subscribe(leave))
    subscriptions.append(flow.events.subscribe(lambda item: None))
    source.on_next(Notice("a"))
    assert seen == [Notice("a")]


class Tripled:
    def feed(self, item):
        return [item] * 3

    def flush(self):
        return []

    def abort(self, error):
        return []
