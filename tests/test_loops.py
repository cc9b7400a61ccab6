import asyncio
import threading

from streamflow.loops import run_on_loop


def test_it_acts_at_once_on_the_loop_that_runs():
    async def main():
        seen = []
        run_on_loop(asyncio.get_running_loop(), seen.append, threading.get_ident())
        return seen

    assert asyncio.run(main()) == [threading.get_ident()]


def test_another_thread_reaches_the_loop_in_the_thread_of_the_loop():
    async def main():
        loop, done, where = asyncio.get_running_loop(), asyncio.Event(), []

        def act():
            where.append(threading.get_ident())
            done.set()

        thread = threading.Thread(target=run_on_loop, args=(loop, act))
        thread.start()
        await asyncio.wait_for(done.wait(), 30)
        thread.join()
        return where

    assert asyncio.run(main()) == [threading.get_ident()]


def test_a_closed_loop_is_left_alone():
    loop = asyncio.new_event_loop()
    loop.close()
    seen = []
    run_on_loop(loop, seen.append, 1)
    assert seen == []
