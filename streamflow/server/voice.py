"""The voice of a flow: said once, kept in a journal of its own, heard by everybody from any place on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from reactivex import operators as ops

from streamflow.audio import AudioSegment
from streamflow.events import TERMINAL, Chunk, Notice
from streamflow.flow import Flow
from streamflow.operators import sentence_segment, speak, speakable
from streamflow.operators.speaking import Synthesizer
from streamflow.server.limits import Limits
from streamflow.server.store import Cursor, FlowState, FlowStore
from streamflow.server.views import JournalView
from streamflow.text.karaoke import Karaoke

VOICE = "tts"
_KEPT = (AudioSegment, Notice, *TERMINAL)


class Voices:
    """The voices of the flows of a server, each made when somebody first listens."""

    def __init__(self, store: FlowStore, synthesizer: Synthesizer, limits: Limits, language: str = "auto") -> None:
        self._store = store
        self._synthesizer = synthesizer
        self._limits = limits
        self._language = language
        self._voices: dict[str, Flow] = {}
        self._making = asyncio.Lock()

    async def of(self, state: FlowState) -> Flow:
        """The voice of a flow."""
        async with self._making:
            voice = self._voices.get(state.id)
            if voice is None:
                await self._forget()
                source = _events(self._store, state.id)
                voice = self._voices[state.id] = Flow(
                    source,
                    *self._operators(),
                    max_bytes=self._limits.journal_bytes,
                    linger_s=self._limits.linger_s,
                )
            return voice

    def view(self, state: FlowState, voice: Flow, after: int) -> JournalView:
        """The audio behind a segment; ids are of the voice's own journal."""
        return JournalView(state.epoch + 1, Cursor(voice, after))

    async def heard(self, state: FlowState, played_s: float) -> str | None:
        """The text that was heard when so much was played; None where nobody listened."""
        voice = self._voices.get(state.id)
        if voice is None:
            return None
        karaoke = Karaoke()
        reader = await self._store.subscribe(state.id, -1)
        try:
            while stamped := await reader.read(0):
                for item in stamped:
                    if isinstance(item.event, Chunk) and item.event.visible:
                        karaoke.add_text(item.event.text, item.event.start)
        finally:
            reader.close()
        for stamped_audio in voice.journal.after(-1):
            if isinstance(stamped_audio.event, AudioSegment):
                karaoke.add(stamped_audio.event.sentence, stamped_audio.event.duration_s)
        return karaoke.heard(played_s)

    def silence(self, state: FlowState) -> None:
        """Say nothing more."""
        if (voice := self._voices.get(state.id)) is not None:
            voice.stop()

    def close(self) -> None:
        """Silence everybody."""
        for voice in self._voices.values():
            voice.stop()

    def _operators(self) -> Sequence[Any]:
        spoken: tuple[Any, ...] = (speakable(), sentence_segment(language=self._language))
        kept: Callable[[Any], bool] = lambda item: isinstance(item, _KEPT)
        return (*spoken, speak(self._synthesizer), ops.filter(kept))

    async def _forget(self) -> None:
        for flow_id in [flow_id for flow_id in self._voices if await self._store.get(flow_id) is None]:
            self._voices.pop(flow_id).stop()


async def _events(store: FlowStore, flow_id: str) -> AsyncIterator[Any]:
    reader = await store.subscribe(flow_id, -1)
    try:
        while not reader.ended:
            for stamped in await reader.read(5.0):
                yield stamped.event
    finally:
        reader.close()
