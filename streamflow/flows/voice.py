"""A chat that speaks."""

from typing import Any

from streamflow.flow import Flow, block
from streamflow.flows.chat import chat
from streamflow.operators import sentence_segment, speak, speakable
from streamflow.operators.speaking import Synthesizer


def voice(
    source: Any,
    synthesizer: Synthesizer,
    *operators: Any,
    language: str = "auto",
    concurrency: int = 3,
    first: str = "sentence",
    **options: Any,
) -> Flow:
    """The branches of `chat`, and two more: ``sentences`` as they are cut, and ``tts``, the audio in exact order.

    >>> import asyncio, streamflow as sf
    >>> from streamflow.audio import Wave
    >>> class Beep:
    ...     async def synthesize(self, text): return Wave(8000, 1, 2, bytes(160 * len(text))).file()
    >>> wire = b'data: {"choices":[{"delta":{"content":"**Hello** there."},"finish_reason":"stop"}]}\\n\\n'
    >>> async def main():
    ...     flow = voice(sf.decode("openai", wire + b"data: [DONE]\\n\\n"), Beep(), language="en")
    ...     return [item.sentence.text async for item in flow["tts"] if isinstance(item, sf.AudioSegment)]
    >>> asyncio.run(main())
    ['Hello there.']
    """
    flow = chat(source, *operators, **options)
    spoken = (speakable(), sentence_segment(language=language, first=first))
    flow.branch("sentences", *spoken)
    flow.branch("tts", *spoken, speak(synthesizer, concurrency=concurrency), policy=block())
    return flow
