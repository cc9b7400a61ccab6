"""Items of the Responses API: a message, a reasoning, a call or a server tool on its way."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from streamflow.events import GeneratedImage, Image, ImageStart
from streamflow.providers.turn import Block, Turn

# Part types: the kind of block they make, and the field that holds their text.
PARTS = {
    "output_text": ("text", "text"),
    "text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("thinking", "text"),
    "summary_text": ("thinking", "text"),
}

CLIENT_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}

# What a block says by other means, or what changes while the item grows.
_NOT_CONTENT = frozenset(("id", "type", "status", "encrypted_content"))
_NOT_CALL_EXTRAS = frozenset(("type", "status", "name", "call_id", "arguments", "input"))

_IMAGE_SIGNATURES = {"/9j/": "image/jpeg", "UklGR": "image/webp", "R0lGOD": "image/gif"}


class Part:
    """A piece of an item that has its own text."""

    __slots__ = ("block", "cited", "kind", "settled")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.block: Block | None = None
        self.settled = False
        self.cited = 0


class Item:
    """One item of the output. ``done`` once the wire has said all of it."""

    def __init__(self, turn: Turn, kind: str, id: str | None = None) -> None:
        self.kind = kind
        self.id = id
        self.call_id: str | None = None
        self.done = False
        self.refused = False
        self._turn = turn
        self._parts: dict[Any, Part] = {}
        self._attributes: dict[str, Any] = {}
        self._block: Block | None = None  # of a tool, or the thought that is open
        self._name: str | None = None
        self._held: list[str] = []  # arguments that came before the call's name
        self._streamed = ""  # the field of a server tool that grows
        self._pieces: list[str] = []

    # -- messages and thoughts

    def grow(self, key: Any, kind: str, text: str) -> None:
        """Text of a part."""
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = Part(kind)
        if not text:
            return
        block = part.block
        if block is None or part.settled:
            block = self._open_part(part)
        self._turn.add(block, text)

    def _open_part(self, part: Part) -> Block:
        part.settled = False
        self.done = False
        if part.kind == "thinking" and self._block is not None:
            # A thought stays open until the next one, because the item's end brings what must be sent back with it.
            self._turn.close(self._block)
        self._turn.pause_text()
        part.block = block = self._turn.open(part.kind, dict(self._attributes) if part.kind == "text" else None)
        if part.kind == "thinking":
            self._block = block
        self.refused = self.refused or part.kind == "refusal"
        return block

    def settle(self, key: Any, kind: str, text: str) -> None:
        """The whole text of a part, said once more."""
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = Part(kind)
        if part.settled:
            return
        block = part.block
        rest = text if block is None else self._rest(block, text)
        if rest:
            self.grow(key, kind, rest)
        part.settled = True
        if part.block is not None and kind != "thinking":
            self._turn.close(part.block)

    def _rest(self, block: Block, text: str) -> str:
        before = "".join(block.parts)
        if text.startswith(before):
            return text[len(before) :]
        self._differs(text)
        return ""

    def _differs(self, whole: Any) -> None:
        self._turn.notice_once("text_differs", f"what was streamed of a {self.kind} is not what its end says", whole)

    def settle_part(self, key: Any, part: dict[str, Any]) -> None:
        """A whole part, with its annotations."""
        known = PARTS.get(part.get("type", ""))
        if known is None:
            self._turn.notice_once("unknown_part", str(part.get("type")), part)
            return
        kind, field = known
        self.settle(key, kind, part[field] or "")
        for position, annotation in enumerate(part.get("annotations") or ()):
            self.cite(key, annotation, position)

    def cite(self, key: Any, annotation: dict[str, Any], position: int | None) -> None:
        """An annotation; those of a part are counted, since its end lists them again."""
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = Part("text")
        if position is None:
            position = part.cited
        if position < part.cited:
            return
        part.cited = position + 1
        details = annotation.get(annotation.get("type", ""))
        source = {**annotation, **details} if isinstance(details, dict) else annotation
        fields: dict[str, Any] = {} if part.block is None else {"index": part.block.index}
        self._turn.cite(
            url=source.get("url") or "",
            title=source.get("title") or source.get("filename") or source.get("file_id") or "",
            text=source.get("quote") or source.get("text") or "",
            start=_offset(source.get("start_index", source.get("index"))),
            end=_offset(source.get("end_index")),
            **fields,
        )

    # -- calls of the client's tools

    def grow_call(self, text: str) -> None:
        """A piece of a call's input."""
        if self._block is None:
            self._held.append(text)
        else:
            self._turn.add(self._block, text)

    def settle_call(self, text: str | None, call_id: str | None, name: str | None) -> None:
        """The whole input of a call, said once more."""
        if self._block is None:
            self._open_call(call_id, name)
        if self._block is None or text is None:
            return
        if rest := self._rest(self._block, text):
            self._turn.add(self._block, rest)

    def _open_call(self, call_id: str | None, name: str | None, anyway: bool = False) -> None:
        self.call_id = call_id or self.call_id
        self._name = name or self._name
        if (self.call_id and self._name) or anyway:
            self._turn.pause_text()
            attributes = {"call": "custom"} if self.kind == "custom_tool_call" else None
            self._block = self._turn.open("tool_call", attributes, self.call_id or self.id, self._name)
            for text in self._held:
                self._turn.add(self._block, text)
            self._held.clear()

    # -- tools that the provider runs

    def _open_server_tool(self, wire: dict[str, Any]) -> Block:
        self._turn.pause_text()
        self._block = self._turn.open(
            "tool_result" if self.kind.endswith(("_output", "compaction")) else "tool_call",
            {"server": self.kind},
            wire.get("id") or wire.get("call_id"),
            wire.get("name"),
        )
        return self._block

    def grow_field(self, field: str, text: str) -> None:
        """Code or arguments on their way: the first field of the JSON text that describes the call."""
        block = self._block or self._open_server_tool({"id": self.id})
        if text:
            self._turn.add(block, ("" if self._streamed else f'{{"{field}":"') + _json(text)[1:-1])
            self._streamed = field
            self._pieces.append(text)

    def _end_field(self, block: Block, whole: Any) -> None:
        before = "".join(self._pieces)
        if isinstance(whole, str) and whole.startswith(before):
            self._turn.add(block, _json(whole[len(before) :])[1:-1])
        elif whole is not None:
            self._differs(whole)
        self._turn.add(block, '"')
        self._pieces.clear()

    def image(self, wire: dict[str, Any], data: str, id: str | None) -> GeneratedImage:
        """A picture of an image generation call."""
        form = wire.get("output_format")
        known = (media for start, media in _IMAGE_SIGNATURES.items() if data.startswith(start))
        facts = ("revised_prompt", "prompt", "size", "quality", "background", "output_format", "partial_image_index")
        return GeneratedImage(
            f"image/{form}" if form else next(known, "image/png"),
            data=data,
            id=id,
            generation={fact: wire[fact] for fact in facts if wire.get(fact) is not None},
        )

    # -- the item as a whole

    def begin(self, wire: dict[str, Any]) -> None:
        """The item was announced, mostly still empty."""
        if self.kind == "message":
            if phase := wire.get("phase"):
                self._attributes = {"phase": phase}
        elif self.kind in CLIENT_CALLS:
            if self._block is None:
                self._open_call(wire.get("call_id"), wire.get("name"))
        elif self.kind != "reasoning" and self._block is None:
            self._open_server_tool(wire)
            if self.kind == "image_generation_call":
                self._turn.emit(ImageStart(wire.get("prompt") or wire.get("revised_prompt") or "", wire.get("id")))

    def finish(self, wire: dict[str, Any], cut: bool = False) -> None:
        """The whole item; everything in it that did not come before comes now."""
        if self.done:
            return
        self.done = True
        self.begin(wire)
        _FINISHERS.get(self.kind, Item._finish_server_tool)(self, wire)
        self.close(cut or wire.get("status") == "incomplete")
        self.done = True

    def close(self, cut: bool) -> None:
        """Close whatever is open; a call that was cut must not look whole."""
        self.done = True
        for part in self._parts.values():
            if part.block is not None:
                self._turn.close(part.block, cut)
        if self._held and self._block is None:
            self._open_call(None, None, anyway=True)
            cut = True
        if self._block is not None:
            self._turn.close(self._block, cut)

    def _finish_message(self, wire: dict[str, Any]) -> None:
        for key, part in enumerate(wire.get("content") or ()):
            self.settle_part(key, part)

    def _finish_reasoning(self, wire: dict[str, Any]) -> None:
        for key, part in enumerate(wire.get("summary") or ()):
            self.settle_part(("summary", key), part)
        for key, part in enumerate(wire.get("content") or ()):
            self.settle_part(key, part)
        if self._block is None:
            self._turn.pause_text()
            self._block = self._turn.open("thinking")
        self._block.opaque = wire

    def _finish_call(self, wire: dict[str, Any]) -> None:
        if self._block is None:
            self._held.clear()  # the item says it all
            self._open_call(None, None, anyway=True)
        self.settle_call(wire.get(CLIENT_CALLS[self.kind]), None, None)
        extras = {key: value for key, value in wire.items() if key not in _NOT_CALL_EXTRAS}
        if self._block is not None and extras:
            self._block.opaque = extras

    def _finish_server_tool(self, wire: dict[str, Any]) -> None:
        block = self._block or self._open_server_tool(wire)
        content = {key: value for key, value in wire.items() if key not in _NOT_CONTENT and value is not None}
        picture = content.pop("result", None) if self.kind == "image_generation_call" else None
        if self._streamed:
            self._end_field(block, content.pop(self._streamed, None))
            self._turn.add(block, ("," if content else "") + _json(content)[1:])
        else:
            self._turn.add(block, _json(content))
        if picture is None:
            block.opaque = wire
        else:
            self._turn.emit(Image(self.image(wire, picture, wire.get("id"))))


_FINISHERS: dict[str, Callable[[Item, dict[str, Any]], None]] = {
    "message": Item._finish_message,
    "reasoning": Item._finish_reasoning,
    "function_call": Item._finish_call,
    "custom_tool_call": Item._finish_call,
}


class Items:
    """The items of one response, by the place that the wire names."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._by_place: dict[Any, Item] = {}

    def at(self, payload: dict[str, Any], kind: str) -> Item:
        """The item that an event is about; made when it was not announced."""
        place = payload.get("output_index")
        if place is None:
            place = payload["item_id"]
        item = self._by_place.get(place)
        if item is None:
            item = self._by_place[place] = Item(self._turn, kind, payload.get("item_id"))
        return item

    def of(self, payload: dict[str, Any], begins: bool) -> Item:
        """The item that an event carries. Another kind at the same place, or a second beginning, is another item."""
        wire = payload["item"]
        kind, id = wire["type"], wire.get("id")
        place = payload.get("output_index", id)
        item = self._by_place.get(place)
        if item is not None and (item.kind != kind or (begins and item.done)):
            self._by_place[("past", len(self._by_place))] = item
            item = None
        if item is None:
            item = self._by_place[place] = Item(self._turn, kind, id)
        return item

    def settle_all(self, output: Iterable[dict[str, Any]], cut: bool) -> None:
        """The final output: whatever it holds and no event brought comes now."""
        final = list(output)
        for place, wire in enumerate(final):
            item = self._known(place, wire, final)
            if item is None:
                item = Item(self._turn, wire["type"], wire.get("id"))
                self._by_place[place if place not in self._by_place else ("final", place)] = item
            item.finish(wire, cut and wire.get("status") != "completed")
        for item in self._by_place.values():
            if not item.done:
                item.close(cut)

    def _known(self, place: int, wire: dict[str, Any], final: list[dict[str, Any]]) -> Item | None:
        kind, id, call_id = wire["type"], wire.get("id"), wire.get("call_id")
        streamed = [item for item in self._by_place.values() if item.kind == kind]
        for item in streamed:
            if (id and item.id == id) or (call_id and item.call_id == call_id):
                return item
        item_here = self._by_place.get(place)
        if item_here is not None and item_here.kind == kind:
            return item_here
        # Ids may change from event to event, and the final list may lack items: as many as it has were streamed.
        ordinal = sum(1 for other in final[:place] if other["type"] == kind)
        if len(streamed) >= sum(1 for other in final if other["type"] == kind):
            return streamed[ordinal]
        return None

    def stop_reason(self) -> str:
        """Why a completed response stopped."""
        items = self._by_place.values()
        if any(item.kind in CLIENT_CALLS for item in items):
            return "tool_use"
        return "refusal" if any(item.refused for item in items) else "end_turn"


def _json(value: Any) -> str:
    # The standard encoder lets half a surrogate pair through; the turn mends it.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _offset(value: Any) -> int:
    return value if isinstance(value, int) else -1
