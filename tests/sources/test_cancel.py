"""Every way to leave a stream closes its socket at once and leaves nothing behind."""

import asyncio
import gc
import threading
import time
import warnings

import pytest

import streamflow as sf
from streamflow.events import BlockComplete, Chunk, StreamCompleted
from streamflow.operators import tool_accumulate, visible_filter
from tests.sources.test_client import client, hello
from tests.support.grammar import assert_grammar
from tests.support.raw_server import CHUNKED, Connection, RawServer, chat, chunk

PROMPT_S = 0.1


async def before_headers(connection: Connection) -> None:
    pass


async def before_text(connection: Connection) -> None:
    await connection.send(CHUNKED)


async def mid_text(connection: Connection) -> None:
    await connection.send(CHUNKED + chunk(chat("Hel", "lo", finish=None, done=False)))


class Watching(RawServer):
    """Plays a beginning, says that it did, and notes when the client closes."""

    def __init__(self, beginning) -> None:
        super().__init__(self._play)
        self._beginning = beginning
        self.played = asyncio.Event()
        self.closes: asyncio.Queue[float] = asyncio.Queue()

    async def _play(self, connection: Connection) -> None:
        await self._beginning(connection)
        self.played.set()
        self.closes.put_nowait(await connection.closed())

    async def seen_close(self) -> float:
        return await asyncio.wait_for(self.closes.get(), 2)


def tasks() -> set:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def arrived(stream, text: str) -> None:
    """Wait until that much text was given out."""
    while (stream.response.text if stream.response else "") != text:
        await asyncio.sleep(0.001)


async def leave_by_dispose(stream, server, text):
    subscription = stream.subscribe(lambda event: None)
    await server.played.wait()
    await arrived(stream, text)
    subscription.dispose()


async def leave_by_task_cancel(stream, server, text):
    task = asyncio.create_task(stream.collect())
    await server.played.wait()
    await arrived(stream, text)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def leave_by_context(stream, server, text):
    task = asyncio.create_task(stream.collect())
    await server.played.wait()
    await arrived(stream, text)
    stream.context.cancel()
    response = await task
    assert (response.stop_reason, response.complete, response.text) == ("cancelled", False, text)


async def leave_by_timeout(stream, server, text):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await stream.collect()


async def leave_by_aclose(stream, server, text):
    iterator = aiter(stream)
    task = asyncio.create_task(anext_all(iterator))
    await server.played.wait()
    await arrived(stream, text)
    await iterator.aclose()
    await task


async def anext_all(iterator) -> list:
    return [event async for event in iterator]


WAYS = [leave_by_dispose, leave_by_task_cancel, leave_by_context, leave_by_timeout, leave_by_aclose]


@pytest.mark.parametrize("leave", WAYS, ids=lambda way: way.__name__[9:])
@pytest.mark.parametrize("beginning", [before_headers, before_text, mid_text], ids=lambda way: way.__name__)
async def test_b5_leaving_closes_the_socket_at_once(beginning, leave):
    text = "Hello" if beginning is mid_text else ""
    async with Watching(beginning) as server, client(server) as llm:
        before = tasks()
        stream = llm.stream("hi")
        await leave(stream, server, text)
        left = time.monotonic()
        assert await server.seen_close() - left < PROMPT_S
        await asyncio.sleep(0)
        assert len(tasks() - before) <= 1, "only the server's own task may be new"
        assert stream.response.text == text
        assert stream.response.complete is False


async def test_break_closes_the_socket_at_once():
    async with Watching(mid_text) as server, client(server) as llm:
        stream = llm.stream("hi")
        async for event in stream:
            if isinstance(event, Chunk):
                break
        left = time.monotonic()
        assert await server.seen_close() - left < PROMPT_S
        assert stream.response.text == "Hel"
        assert [block.incomplete for block in stream.response.blocks] == [True]


async def test_an_exception_in_the_loop_closes_the_socket_at_once():
    async with Watching(mid_text) as server, client(server) as llm:
        with pytest.raises(KeyError):
            await raising_consumer(llm.stream("hi"))
        left = time.monotonic()
        assert await server.seen_close() - left < PROMPT_S


async def raising_consumer(stream) -> None:
    async for _ in stream:
        raise KeyError("mine")


async def test_a_subscriber_that_raises_closes_the_socket_and_is_reported():
    reports: list = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))

    def fail(event) -> None:
        raise KeyError("mine")

    async with Watching(mid_text) as server, client(server) as llm:
        llm.stream("hi").subscribe(fail)
        await server.seen_close()
        await asyncio.sleep(0)
    assert [type(report["exception"]) for report in reports] == [KeyError]


async def test_b11_disposing_inside_on_next_delivers_nothing_more():
    got: list = []
    async with Watching(mid_text) as server, client(server) as llm:
        holder: list = []

        def take(event) -> None:
            got.append(event)
            holder[0].dispose()

        holder.append(llm.stream("hi").subscribe(take, got.append, lambda: got.append("end")))
        await server.seen_close()
    assert len(got) == 1


async def test_b11_disposing_twice_and_from_another_thread():
    async with Watching(mid_text) as server, client(server) as llm:
        got: list = []
        subscription = llm.stream("hi").subscribe(got.append, got.append)
        await server.played.wait()
        thread = threading.Thread(target=subscription.dispose)
        thread.start()
        await server.seen_close()
        thread.join()
        subscription.dispose()
        assert not any(isinstance(item, Exception) for item in got)


async def test_cancel_from_another_thread():
    async with Watching(mid_text) as server, client(server) as llm:
        context = sf.StreamContext()
        task = asyncio.create_task(llm.collect("hi", context=context))
        await server.played.wait()
        threading.Thread(target=context.cancel).start()
        assert (await task).stop_reason == "cancelled"
        await server.seen_close()


async def test_a_cancelled_context_sends_nothing():
    context = sf.StreamContext()
    context.cancel()
    async with RawServer(hello) as server, client(server) as llm:
        events = [event async for event in llm.stream("hi", context=context)]
        assert server.requests == []
    assert [type(event) for event in events] == [StreamCompleted]
    assert events[0].stop_reason == "cancelled"


@pytest.mark.parametrize("stop_after", range(8))
async def test_is_cancelled_is_asked_between_events_even_if_all_came_in_one_read(stop_after):
    seen: list = []

    async def at_once(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(chat("a", "b", "c")) + b"0\r\n\r\n")

    context = sf.StreamContext(is_cancelled=lambda: len(seen) >= stop_after)
    async with RawServer(at_once) as server, client(server) as llm:
        async for event in llm.stream("hi", context=context):
            seen.append(event)
    assert_grammar(seen)
    end = seen[-1]
    given = "".join(event.text for event in seen if isinstance(event, Chunk))
    # The three events of the first frame come together.
    assert end.response.text == given == ("", "a", "a", "a", "ab", "abc", "abc", "abc")[stop_after]
    assert end.stop_reason == ("cancelled" if stop_after < 7 else "end_turn")
    assert end.response.complete is (stop_after >= 7)


async def test_is_cancelled_is_asked_while_nothing_comes():
    flag = threading.Event()
    context = sf.StreamContext(is_cancelled=flag.is_set)
    async with Watching(before_headers) as server, client(server) as llm:
        task = asyncio.create_task(llm.collect("hi", context=context))
        await server.played.wait()
        flag.set()
        left = time.monotonic()
        assert await server.seen_close() - left < PROMPT_S
        assert (await task).stop_reason == "cancelled"


async def test_the_limit_of_a_context_is_an_error_with_what_came():
    async with Watching(mid_text) as server, client(server) as llm:
        with pytest.raises(sf.LimitExceeded) as caught:
            await llm.collect("hi", context=sf.StreamContext(timeout_s=0.05))
        await server.seen_close()
    assert caught.value.kind == "timeout_s"
    assert caught.value.partial.text == "Hello"


async def test_a_cancelled_stream_has_no_runnable_call():
    call = b'{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}'
    wire = b'data: {"choices":[{"delta":{"tool_calls":[%s]}}]}\n\n' % call

    async def calling(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(wire))

    async with Watching(calling) as server, client(server) as llm:
        stream = llm.stream("hi").pipe(tool_accumulate())
        events: list = []
        over = asyncio.Event()
        stream.subscribe(events.append, on_completed=over.set)
        while not any(isinstance(event, Chunk) for event in events):
            await asyncio.sleep(0.001)
        stream.cancel()
        await over.wait()
        await server.seen_close()
    assert_grammar(events)
    assert not any(type(event).__name__ == "ToolCallsReady" for event in events)
    assert [event.incomplete for event in events if isinstance(event, BlockComplete)] == [True]
    assert not any(call.runnable for call in events[-1].response.tool_calls)


async def test_a_pipe_without_ends_is_cancelled_without_one():
    async with Watching(mid_text) as server, client(server) as llm:
        stream = llm.stream("hi").pipe(visible_filter())
        items: list = []
        async for item in stream:
            items.append(item)
            if len(items) == 2:
                stream.cancel()
        await server.seen_close()
    assert [item.text for item in items] == ["Hel", "lo"]
    assert stream.response.text == "Hello"
    assert stream.response.complete is False


async def test_closing_the_client_ends_its_streams():
    async with Watching(mid_text) as server:
        llm = client(server)
        errors: list = []
        stream = llm.stream("hi")
        stream.subscribe(lambda event: None, errors.append)
        await server.played.wait()
        await arrived(stream, "Hello")
        await llm.close()
        await llm.close()
        await server.seen_close()
    assert isinstance(errors[0], sf.UsageError)
    assert errors[0].partial.text == "Hello"


async def test_b12_two_hundred_cancelled_streams_leave_nothing():
    beginnings = [before_headers, before_text, mid_text]

    async def play(connection: Connection) -> None:
        await beginnings[connection.number % 3](connection)
        await connection.closed()

    async with RawServer(play) as server, client(server) as llm:
        before = tasks()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for number in range(200):
                stream = llm.stream("hi")
                if number % 4 == 0:
                    subscription = stream.subscribe(lambda event: None)
                else:
                    task = asyncio.create_task(stream.collect())
                while len(server.requests) <= number:
                    await asyncio.sleep(0)
                if number % 4 == 0:
                    subscription.dispose()
                elif number % 4 == 1:
                    stream.cancel()
                    await task
                else:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            for _ in range(50):
                await asyncio.sleep(0.002)
                if not tasks() - before:
                    break
            gc.collect()
        assert tasks() - before == set()
        assert not llm._runs
        assert all(request.closed_at is not None for request in server.requests)
        assert not llm._settings.http._session.connector._acquired
