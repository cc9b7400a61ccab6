from collections.abc import Callable
from typing import Any, Literal

from reactivex import Observable

from streamflow.errors import UsageError
from streamflow.operators.speaking import Speaking, SpeakOptions, Synthesizer

_POLICIES = ("skip", "retry", "stop")


def speak(
    synthesizer: Synthesizer,
    concurrency: int = 3,
    lookahead: int = 6,
    *,
    gap_s: float = 5.0,
    timeout_s: float = 30.0,
    on_failure: Literal["skip", "retry", "stop"] = "skip",
    played: Observable[Any] | None = None,
) -> Callable[[Observable[Any]], Observable[Any]]:
    """Sentences become `AudioSegment` items in exact order, up to ``concurrency`` of them made at the same time.

    ```
    in   --Sentence(0)--Sentence(1)--Sentence(2)-----------------------|
    out  -------------------Audio(0)----------------Audio(1) Audio(2)--|
    ```

    At most ``lookahead`` sentences are begun and not delivered; with ``played`` (`Player.played`), and not played.
    One that fails is reported as `Notice("synthesis_failed")` and skipped; ``on_failure="retry"`` tries once more
    first, ``"stop"`` ends the stream with the error. One that hangs while later ones are ready is given up after
    ``gap_s`` seconds (`Notice("skipped")`), any after ``timeout_s``. Plain strings count as sentences. The beginning
    and the end of a message keep their places, other events pass at once.

    >>> import asyncio, streamflow as sf, reactivex as rx
    >>> from streamflow.audio import Wave
    >>> class Beep:
    ...     async def synthesize(self, text): return Wave(8000, 1, 2, bytes(160 * len(text))).file()
    >>> async def main():
    ...     async for segment in sf.aiter(rx.of("Hello.", "How are you?").pipe(speak(Beep()))):
    ...         print(segment.index, segment.sentence.text, segment.duration_s)
    >>> asyncio.run(main())
    0 Hello. 0.06
    1 How are you? 0.12
    """
    if not callable(getattr(synthesizer, "synthesize", None)):
        raise UsageError("speak(synthesizer): an object with a method `synthesize(text)`, text to wave file, is needed")
    if concurrency < 1 or lookahead < 1:
        raise UsageError("speak(concurrency=, lookahead=): both must be at least 1")
    if on_failure not in _POLICIES:
        raise UsageError(f"speak(on_failure={on_failure!r}): allowed are {', '.join(map(repr, _POLICIES))}")
    options = SpeakOptions(concurrency, lookahead, gap_s, timeout_s, on_failure)
    return lambda source: Speaking(source, synthesizer, options, played)
