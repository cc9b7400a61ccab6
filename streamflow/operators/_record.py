import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from streamflow.recordings import RecordingWriter


def record(
    path: str | os.PathLike[str],
    *,
    provider: str = "",
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[Observable[Any]], Observable[Any]]:
    """Write what passes, bytes or the items of any stage, with its times into a file; nothing is changed.

    ```
    in   --a----b--c--|
    out  --a----b--c--|
    file   0    5  8  end
    ```

    How it ended is written too: completed, the error, or cancelled by a subscriber that left. Of the headers only
    harmless ones are kept, and what looks like a key is masked. Each subscription writes the file anew.

    >>> import tempfile, reactivex as rx, streamflow as sf
    >>> path = tempfile.mkdtemp() + "/answer.jsonl"
    >>> rx.of(b"data: a\\n\\n").pipe(record(path, provider="openai")).subscribe(print) and None
    b'data: a\\n\\n'
    >>> sf.load_recording(path).pieces[0].item
    b'data: a\\n\\n'
    """
    kept = tuple(secrets)

    def tap(source: Observable[Any]) -> Observable[Any]:
        def subscribe(observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None) -> Any:
            writer = RecordingWriter(path, provider=provider, headers=headers, secrets=kept)
            begin = clock()

            def on_next(item: Any) -> None:
                writer.write(clock() - begin, item)
                observer.on_next(item)

            def on_error(error: Exception) -> None:
                writer.end("error", clock() - begin, error)
                observer.on_error(error)

            def on_completed() -> None:
                writer.end("completed", clock() - begin)
                observer.on_completed()

            subscription = source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

            def leave() -> None:
                writer.end("cancelled", clock() - begin)
                subscription.dispose()

            return Disposable(leave)

        return Observable(subscribe)

    return tap
