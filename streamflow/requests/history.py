"""From what was streamed to messages that can be sent back: nothing signed is changed, no call is left alone."""

from collections.abc import Callable, Iterable
from typing import Any

from streamflow.errors import UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    GeneratedImage,
    Image,
    Response,
    Stamped,
    StreamCompleted,
    StreamStart,
    ToolCallsReady,
)
from streamflow.fold import Fold
from streamflow.requests.blocks import (
    Block,
    GeneratedImageBlock,
    ServerToolBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from streamflow.requests.endpoints import ENDPOINTS
from streamflow.requests.messages import Message

INTERRUPTED = "Interrupted before a result came; the tool may have run."
INVALID_ARGUMENTS = "INVALID_JSON"  # the key that Anthropic names for arguments that are no JSON

_SIGNATURES = ("signature", "thoughtSignature")


def blocks_of(response: Response) -> list[Block]:
    """The blocks of an answer, in order. A call that was cut is not among them, nor a thought without its end.

    >>> from streamflow.fold import collect
    >>> [block.type for block in blocks_of(collect([BlockComplete(0, "text", "Hi"), StreamCompleted()]))]
    ['text']
    """
    places = response.image_places
    if len(places) != len(response.images):  # a response that somebody made by hand
        places = [len(response.blocks)] * len(response.images)
    pictures = list(zip(places, response.images, strict=True))
    return _ordered(response.blocks, pictures, response.complete, response.id)


def message_of(response: Response, provider: str | None = None) -> Message:
    """The answer as a message of the assistant, for the next request.

    ``provider`` is kept with it, so that signatures go back only to their maker.

    >>> message_of(Response(blocks=[BlockComplete(0, "text", "Hi")], complete=True), "openai").text
    'Hi'
    """
    return Message(role="assistant", content=blocks_of(response), provider=provider)


def _ordered(
    blocks: Iterable[BlockComplete], pictures: list[tuple[int, GeneratedImage]], turn_ended: bool, response_id: str
) -> list[Block]:
    """The blocks, each picture after as many of them as had come before it."""
    made: list[Block] = []
    pictures = list(pictures)
    for position, block in enumerate(blocks):
        while pictures and pictures[0][0] <= position:
            made.append(_picture(pictures.pop(0)[1]))
        if (written := _block(block, turn_ended, response_id)) is not None:
            made.append(written)
    return made + [_picture(image) for _, image in pictures]


def _block(block: BlockComplete, turn_ended: bool, response_id: str) -> Block | None:
    if "server" in block.attributes:
        # What the provider ran itself is sent back only whole.
        return _server_tool(block) if turn_ended and not block.incomplete else None
    maker = _MAKERS.get(block.kind)
    if maker is None:
        # A kind of the user's own came out of the text, and goes back as what the model wrote.
        return TextBlock(text=block.raw or block.content)
    return maker(block, turn_ended, response_id)


def _signed(opaque: Any) -> dict[str, Any]:
    """Signature and other material of the provider, as the fields of a block."""
    if not isinstance(opaque, dict):
        return {"opaque": opaque}
    if opaque.get("type") in ("reasoning", "redacted_thinking"):
        return {"opaque": opaque}
    signature = next((opaque[name] for name in _SIGNATURES if opaque.get(name)), None)
    rest = {name: value for name, value in opaque.items() if name not in _SIGNATURES}
    plain = not rest or set(rest) == {"type"}
    return {"signature": signature, "opaque": None if plain else rest}


def _text(block: BlockComplete, turn_ended: bool, response_id: str) -> Block | None:
    fields = _signed(block.opaque)
    if phase := block.attributes.get("phase"):
        fields["opaque"] = {**(fields.get("opaque") or {}), "phase": phase}
    return TextBlock(text=block.content, **fields) if block.content or fields.get("signature") else None


def _refusal(block: BlockComplete, turn_ended: bool, response_id: str) -> Block | None:
    return TextBlock(text=block.content, opaque={"type": "refusal"}) if block.content else None


def _thinking(block: BlockComplete, turn_ended: bool, response_id: str) -> Block | None:
    if block.raw is not None and block.opaque is None:
        return TextBlock(text=block.raw)  # a block operator took it out of the text
    if block.incomplete:
        return None  # its signature, if any, is not whole
    fields = _signed(block.opaque)
    has_material = any(value is not None for value in fields.values())
    return ThinkingBlock(text=block.content, **fields) if block.content or has_material else None


def _tool_call(block: BlockComplete, turn_ended: bool, response_id: str) -> Block | None:
    if block.incomplete or not turn_ended:
        return None
    raw = block.content if block.raw is None else block.raw
    custom = block.attributes.get("call") == "custom"
    value = block.input
    if block.error is not None:
        value, raw = {INVALID_ARGUMENTS: raw}, ""
    elif not custom and not isinstance(value, dict):
        value = {} if value in (None, "") else {"input": value}
        raw = ""
    return ToolCallBlock(
        id=call_id(block, response_id),
        name=block.tool_name or "",
        input=value,
        custom=custom,
        raw=raw if raw.strip() else None,
        invented_id=not block.tool_id or bool(block.attributes.get("invented_id")),
        **_signed(block.opaque),
    )


def call_id(block: BlockComplete, response_id: str = "") -> str:
    """The id of a call; one is made where the provider gives none, the same each time it is asked for.

    >>> call_id(BlockComplete(3, "tool_call"), "r1")
    'call_r1_3'
    """
    if block.tool_id:
        return block.tool_id
    known = "".join(letter for letter in response_id if letter.isascii() and (letter.isalnum() or letter in "_-"))
    return "_".join(part for part in ("call", known[:40], str(block.index)) if part)


def _tool_result(block: BlockComplete, turn_ended: bool = True, response_id: str = "") -> ToolResultBlock | None:
    if not block.tool_id or block.incomplete:
        return None
    media = block.opaque.get("content") if isinstance(block.opaque, dict) else None
    return ToolResultBlock(
        tool_id=block.tool_id,
        tool_name=block.tool_name,
        content=media or block.content,
        is_error=block.error is not None,
        custom=block.attributes.get("call") == "custom",
    )


def _server_tool(block: BlockComplete) -> Block:
    is_signature = isinstance(block.opaque, dict) and set(block.opaque) == {"thoughtSignature"}
    return ServerToolBlock(
        server=str(block.attributes["server"]),
        kind="tool_call" if block.kind == "tool_call" else "tool_result",
        id=block.tool_id,
        name=block.tool_name,
        content=block.content,
        **(_signed(block.opaque) if is_signature else {"opaque": block.opaque}),
    )


def _picture(image: GeneratedImage) -> GeneratedImageBlock:
    generation = {name: value for name, value in image.generation.items() if name not in _SIGNATURES}
    return GeneratedImageBlock(
        media_type=image.media_type,
        data=image.data,
        blob_id=image.blob_id,
        url=image.url,
        generation=generation,
        signature=image.generation.get("thoughtSignature"),
        opaque={"id": image.id} if image.id else None,
    )


_MAKERS: dict[str, Callable[[BlockComplete, bool, str], Block | None]] = {
    "text": _text,
    "refusal": _refusal,
    "thinking": _thinking,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
}


class History:
    """The messages that a stream of events adds to a conversation, also a stream of several rounds with tools.

    `messages` may be asked for at any moment, and its answer can be sent: a call that was cut is left out, so is a
    thought without its end or, where the provider wants one, without a signature; a call without a result gets one
    that says so.

    >>> history = History("openai")
    >>> for event in (BlockStart(0, "text"), BlockComplete(0, "text", "Hel", incomplete=True)):
    ...     history.add(event)
    >>> [message.text for message in history.messages()]
    ['Hel']
    """

    def __init__(self, provider: str | None = None) -> None:
        self.unanswered = INTERRUPTED
        """What is said in place of a result that did not come."""
        self._provider = provider
        self._earlier: list[Message] = []
        self._begin()

    def _begin(self) -> None:
        self._turn = Fold()
        self._pictures: list[tuple[int, GeneratedImage]] = []
        self._closed_blocks = 0
        self._ended = False
        self._results: list[ToolResultBlock] = []

    def add(self, event: object) -> None:
        """Take one event in; what does not belong to the conversation is ignored."""
        if isinstance(event, Stamped):
            event = event.event
        if isinstance(event, BlockComplete) and _is_result(event):
            if (result := _tool_result(event)) is not None:
                self._results.append(result)
            return
        if isinstance(event, BlockStart) and (self._results or self._ended) and not _is_result(event):
            self._earlier = self.messages()
            self._begin()
        if isinstance(event, StreamStart):
            self._provider = self._provider or event.provider or None
        elif isinstance(event, Image):
            if not self._ended:  # afterwards it is a tool that draws, and the picture is in its result
                self._pictures.append((self._closed_blocks, event.image))
        elif isinstance(event, BlockComplete):
            self._closed_blocks += 1
        elif isinstance(event, ToolCallsReady):
            self._ended = True
        elif isinstance(event, StreamCompleted):
            self._ended = self._ended or event.stop_reason != "cancelled"
        if not (isinstance(event, BlockStart) and _is_result(event)):
            self._turn.add(event)

    def messages(self) -> list[Message]:
        """What can be added to the conversation now."""
        response = self._turn.response()
        blocks = _ordered(response.blocks, self._pictures, self._ended, response.id)
        row = ENDPOINTS.get(self._provider or "")
        if row is not None and row.signed_thinking:
            blocks = [block for block in blocks if not _is_unsigned(block)]
        said = without_last_thoughts(Message(role="assistant", content=blocks, provider=self._provider))
        if not said.content:
            return list(self._earlier)
        messages = [*self._earlier, said]
        known = {call.id for call in said.tool_calls}
        results: list[Any] = [result for result in self._results if result.tool_id in known]
        if results:
            messages.append(Message(role="tool", content=results))
        return answer_open_calls(messages, self.unanswered)


def _is_unsigned(block: Block) -> bool:
    return isinstance(block, ThinkingBlock) and block.signature is None and block.opaque is None


def _is_result(event: BlockStart | BlockComplete) -> bool:
    return event.kind == "tool_result" and "server" not in event.attributes


def history_of(events: Iterable[object], provider: str | None = None) -> list[Message]:
    """The messages that these events add to a conversation.

    >>> [message.role for message in history_of([BlockComplete(0, "text", "Hi"), StreamCompleted()])]
    ['assistant']
    """
    history = History(provider)
    for event in events:
        history.add(event)
    return history.messages()


def open_calls(messages: Iterable[Message]) -> list[tuple[int, ToolCallBlock]]:
    """The calls that no message right after them answers, each with the position of its message.

    >>> [call.id for _, call in open_calls([Message.assistant([ToolCallBlock(id="c", name="f")])])]
    ['c']
    """
    listed = list(messages)
    found = []
    for position, message in enumerate(listed):
        if not message.tool_calls:
            continue
        answered = set()
        for follower in listed[position + 1 :]:
            if follower.role not in ("tool", "user"):
                break
            answered |= {result.tool_id for result in follower.tool_results}
        found += [(position, call) for call in message.tool_calls if call.id not in answered]
    return found


def answer_open_calls(messages: Iterable[Message], text: str = INTERRUPTED) -> list[Message]:
    """The same messages, with a result for every call that has none: providers refuse a call without one.

    >>> [message.role for message in answer_open_calls([Message.assistant([ToolCallBlock(id="c", name="f")])])]
    ['assistant', 'tool']
    """
    listed = list(messages)
    missing: dict[int, list[ToolCallBlock]] = {}
    for position, call in open_calls(listed):
        missing.setdefault(position, []).append(call)
    out: list[Message] = []
    for position, message in enumerate(listed):
        out.append(message)
        if position in missing:
            content: list[Any] = [
                ToolResultBlock(tool_id=call.id, tool_name=call.name, content=text, is_error=True, custom=call.custom)
                for call in missing[position]
            ]
            out.append(Message(role="tool", content=content))
    return in_call_order(out) if missing else out


def in_call_order(messages: Iterable[Message]) -> list[Message]:
    """The same messages, the results after each message with calls gathered in one, in the order of the calls.

    Tools end in any order, but where a provider gives no ids the order is all that tells their results apart.

    >>> called = Message.assistant([ToolCallBlock(id="a", name="f"), ToolCallBlock(id="b", name="f")])
    >>> made = in_call_order([called, Message.tool_result("b", "2"), Message.tool_result("a", "1")])
    >>> [result.tool_id for result in made[1].tool_results]
    ['a', 'b']
    """
    out: list[Message] = []
    places: dict[str, int] = {}
    turn = 0  # where the results of the latest calls stand
    for message in (part for whole in messages for part in _results_apart(whole)):
        if message.role == "assistant":
            places = {call.id: place for place, call in enumerate(message.tool_calls)}
        if message.role != "tool":
            out.append(message)
            turn = len(out) if message.role == "assistant" else turn
            continue
        # What the user says between two results comes after them.
        here = turn if all(result.tool_id in places for result in message.tool_results) else len(out)
        here = here - 1 if here == len(out) and out and out[-1].role == "tool" else here
        content = list(message.content)
        if here < len(out) and out[here].role == "tool":
            content = [*out.pop(here).content, *content]
        content.sort(
            key=lambda block: places.get(block.tool_id, len(places)) if isinstance(block, ToolResultBlock) else -1
        )
        out.insert(here, message.model_copy(update={"content": content}))
    return out


def _results_apart(message: Message) -> list[Message]:
    """Results that the user gives, as a turn of their own; the rest of the user's message follows."""
    if message.role != "user" or not message.tool_results:
        return [message]
    rest = [block for block in message.content if not isinstance(block, ToolResultBlock)]
    results = message.model_copy(update={"role": "tool", "content": list(message.tool_results)})
    return [results, message.model_copy(update={"content": rest})] if rest else [results]


def refuse_open_calls(messages: list[Message], provider: str) -> None:
    """Raise for a conversation that every provider would refuse."""
    if left := open_calls(messages):
        names = ", ".join(f"{call.name} ({call.id})" for _, call in left)
        raise UsageError(
            f"these tool calls have no result: {names}. Add sf.Message.tool_result(...) right after the message that "
            "makes them, or pass the messages through sf.answer_open_calls.",
            provider=provider,
        )


def without_last_thoughts(message: Message) -> Message:
    """The message without thoughts at its end: nothing was said after them, and providers refuse such a message.

    >>> without_last_thoughts(Message.assistant([ThinkingBlock(text="hm", signature="s")])).content
    []
    """
    if message.role != "assistant":
        return message
    content = list(message.content)
    while content and isinstance(content[-1], ThinkingBlock):
        content.pop()
    return message if len(content) == len(message.content) else message.model_copy(update={"content": content})
