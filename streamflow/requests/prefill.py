"""Prefill: the conversation as one log of participants, which the model goes on writing.

Blocks are written as tags in the text, as the block operators read them: ``<thinking>``, ``<function_calls>``,
``<function_results>``. The log is then the beginning of an answer (Anthropic, Gemini and others) or the prompt of a
text completion.
"""

from collections.abc import Callable, Iterable
from html import escape
from itertools import groupby
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.requests.blocks import (
    Block,
    GeneratedImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from streamflow.requests.draft import OPENING, image_of, input_object
from streamflow.requests.endpoints import Endpoint
from streamflow.requests.json_bytes import json_bytes
from streamflow.requests.messages import INSTRUCTIONS, Message
from streamflow.requests.participants import (
    DEFAULT_NAMES,
    MAX_PARTICIPANTS_FOR_STOP,
    Suppression,
    named,
    participant_stops,
    suppression_of,
)
from streamflow.requests.tool_definitions import ToolDefinition

EOT = "<|eot|>"
CALLS_END = "</function_calls>"
TAG_PREFIX = "antml:"  # some models write their tags with it


class LogStyle(msgspec.Struct, frozen=True):
    """How a dialect's log looks: what ends a turn, what stands between two, and what stops the model."""

    eot_token: str = ""
    separator: str = "\n\n"
    stops: tuple[str, ...] = ("\n{name}:",)


STYLES = {
    "gemini": LogStyle(eot_token=EOT, separator=""),
    "completions": LogStyle(eot_token=EOT, stops=("\n\n{name}:", "\n{name}:")),
}
_PLAIN = LogStyle()


class PrefillOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``mode="prefill"``; None means: as is usual for that provider.

    >>> PrefillOptions().stop_on_eot
    True
    """

    assistant_name: str | None = None
    user_name: str = DEFAULT_NAMES["user"]
    eot_token: str | None = None
    stop_on_eot: bool = True
    name_format: str = "{name}: "
    message_separator: str | None = None
    max_participants_for_stop: int = MAX_PARTICIPANTS_FOR_STOP
    suppression: Any = None
    opening: str = OPENING
    open_thinking: bool = False


OPTION_NAMES = frozenset((*PrefillOptions.__struct_fields__, *Suppression.__struct_fields__))


class Prefilled(msgspec.Struct, frozen=True):
    """The log as messages, or as one prompt, with what must stop the model.

    ``continues`` is the text that the answer goes on from; ``eot_token`` what must be taken out of it.
    """

    messages: list[Message]
    prompt: str
    stops: list[str]
    eot_token: str
    continues: str


def prefill(
    row: Endpoint, messages: list[Message], tools: list[ToolDefinition], stop: Any, options: dict[str, Any]
) -> Prefilled:
    """Write the log."""
    chosen = _options(options)
    style = STYLES.get(row.dialect, _PLAIN)
    eot = eot_token_of(row, chosen.eot_token)
    separator = style.separator if chosen.message_separator is None else chosen.message_separator
    assistant = chosen.assistant_name or _last_speaker(messages) or DEFAULT_NAMES["assistant"]
    spoken = named([message for message in messages if message.role not in INSTRUCTIONS], chosen.user_name, assistant)
    spoken = [_by_name(message, assistant) for message in spoken]
    writer = _Log(row, chosen, suppression_of(chosen.suppression), eot, separator)
    writer.write(spoken, assistant)
    instructions = [message for message in messages if message.role in INSTRUCTIONS]
    if tools:
        instructions.append(Message.system(tool_text(tools)))
    log = writer.turns
    if log[0].role == "assistant":
        log.insert(0, Message.user(chosen.opening))
    last = log[-1].text
    prompt = "\n\n".join([message.text for message in instructions] + ["".join(writer.pieces)])
    needed = [eot] if eot and chosen.stop_on_eot else []
    needed += [CALLS_END] if tools else []
    needed += [stop] if isinstance(stop, str) else list(stop or ())
    speakers = participant_stops(spoken, assistant, formats=style.stops, most=chosen.max_participants_for_stop)
    if row.max_stops is not None:
        # The operator stop_sequences takes over what the provider has no room for.
        speakers = speakers[: max(0, row.max_stops - len(needed))]
    return Prefilled([*instructions, *log], prompt, [*speakers, *needed], eot, last)


def _by_name(message: Message, assistant: str) -> Message:
    """In a log the name tells who speaks, whatever the role says."""
    if message.role == "user" and message.participant == assistant and not message.tool_results:
        return message.model_copy(update={"role": "assistant"})
    return message


def eot_token_of(row: Endpoint, given: str | None = None) -> str:
    """The token that ends a turn in a provider's log; empty where there is none.

    >>> from streamflow.requests.endpoints import endpoint
    >>> eot_token_of(endpoint("gemini")), eot_token_of(endpoint("anthropic"))
    ('<|eot|>', '')
    """
    return STYLES.get(row.dialect, _PLAIN).eot_token if given is None else given


def _options(options: dict[str, Any]) -> PrefillOptions:
    rules = {name: options[name] for name in Suppression.__struct_fields__ if name in options}
    given = {name: value for name, value in options.items() if name not in rules}
    if rules:
        if given.get("suppression") is not None:
            raise UsageError(f"give suppression= or {', '.join(rules)}, not both.")
        given["suppression"] = suppression_of(rules)
    chosen = PrefillOptions(**given)
    if "{name}" not in chosen.name_format:
        raise UsageError(f"name_format is {chosen.name_format!r}; it must hold {{name}}.")
    return chosen


def _last_speaker(messages: list[Message]) -> str | None:
    names = [message.participant for message in messages if message.role == "assistant" and message.participant]
    return names[-1] if names else None


class _Log:
    """Gathers text; a picture interrupts it, because only a user's turn can hold one."""

    def __init__(self, row: Endpoint, options: PrefillOptions, rules: Suppression, eot: str, separator: str) -> None:
        self.turns: list[Message] = []
        self.pieces: list[str] = []  # all of the text, for a prompt
        self._row = row
        self._options = options
        self._rules = rules
        self._eot = eot
        self._separator = separator
        self._text: list[str] = []

    def write(self, messages: list[Message], assistant: str) -> None:
        # Calls, their results and what the model says then are one turn of one speaker.
        previous: Message | None = None
        goes_on = False
        for position, message in enumerate(messages):
            follower = messages[position + 1].role if position + 1 < len(messages) else None
            if message.role == "tool":
                self._results(message)
            else:
                if not (goes_on and message.role == "assistant"):
                    self._say(self._name(message, previous))
                self._content(message.content)
                previous = message
            goes_on = message.role == "tool" or (message.role == "assistant" and follower in ("tool", None))
            if not goes_on or (message.role == "tool" and follower == "user"):
                self._say(self._eot + self._separator)
        if not goes_on:
            self._say(self._name(Message.assistant([], participant=assistant), previous))
        self._trim_end()
        if self._options.open_thinking:
            self._say("\n<thinking>")
        self._end_turn()

    def _results(self, message: Message) -> None:
        self._say(write_results(message.tool_results) + "\n")
        for result in message.tool_results:
            for media in result.media:
                self._show(media)

    def _name(self, message: Message, previous: Message | None) -> str:
        if self._rules.hides(message, previous):
            return ""
        return self._options.name_format.format(name=message.participant or "")

    def _say(self, text: str) -> None:
        if text:
            self._text.append(text)
            self.pieces.append(text)

    def _content(self, blocks: Iterable[Block]) -> None:
        for is_call, group in groupby(blocks, lambda block: isinstance(block, ToolCallBlock)):
            if is_call:
                self._say(write_calls(block for block in group if isinstance(block, ToolCallBlock)))
            else:
                for block in group:
                    self._block(block)

    def _block(self, block: Block) -> None:
        shown = image_of(block) if isinstance(block, GeneratedImageBlock) else block
        if shown is None:
            return
        if shown.type in ("image", "audio", "document"):
            self._show(shown)
            return
        writer = _WRITERS.get(shown.type)
        if writer is not None:
            self._say(writer(shown))

    def _show(self, block: Block) -> None:
        if not self._row.images:
            raise UsageError(f"{self._row.name} takes words only, no {block.type}.", provider=self._row.name)
        self._end_turn()
        self.turns.append(Message.user([block]))

    def _trim_end(self) -> None:
        for texts in (self._text, self.pieces):
            while texts:
                texts[-1] = texts[-1].rstrip()
                if texts[-1]:
                    break
                texts.pop()

    def _end_turn(self) -> None:
        if self._text:
            self.turns.append(Message.assistant("".join(self._text)))
            self._text = []


def _write_thinking(block: ThinkingBlock) -> str:
    return f"<thinking>{block.text}</thinking>\n" if block.text else ""


def write_calls(calls: Iterable[ToolCallBlock]) -> str:
    """Calls that stand next to each other, in one block; what the model itself wrote is kept.

    >>> print(write_calls([ToolCallBlock(id="c", name="now")]).strip())
    <function_calls>
    <invoke name="now">
    </invoke>
    </function_calls>
    """
    written = [_write_call(call) for call in calls]
    prefixed = "<" + TAG_PREFIX + "invoke"
    prefix = TAG_PREFIX if any(call.startswith(prefixed) for call in written) else ""
    if not all(call.startswith(("<invoke", prefixed)) for call in written):
        return "\n".join(written) + "\n"  # calls in other tags have no block around them
    return f"\n<{prefix}function_calls>\n" + "\n".join(written) + f"\n</{prefix}function_calls>\n"


def _write_call(block: ToolCallBlock) -> str:
    if block.raw and block.raw.startswith("<"):
        return block.raw
    values = "".join(
        f'<parameter name="{escape(name)}">{value if isinstance(value, str) else json_bytes(value).decode()}'
        "</parameter>\n"
        for name, value in input_object(block).items()
    )
    return f'<invoke name="{escape(block.name)}">\n{values}</invoke>'


def write_results(results: Iterable[ToolResultBlock]) -> str:
    """Results as the text that follows the calls; the five entities are escaped.

    >>> print(write_results([ToolResultBlock(tool_id="c1", content="a < b")]))
    <function_results>
    <result tool_use_id="c1">
    a &lt; b
    </result>
    </function_results>
    """
    written = []
    for result in results:
        tag = "error" if result.is_error else "result"
        text = escape(result.text).replace("&#x27;", "&apos;")
        written.append(f'<{tag} tool_use_id="{escape(result.tool_id)}">\n{text}\n</{tag}>\n')
    return f"<function_results>\n{''.join(written)}</function_results>"


def _write_text(block: TextBlock) -> str:
    return block.text


_WRITERS: dict[str, Callable[[Any], str]] = {
    "text": _write_text,
    "thinking": _write_thinking,
}


def tool_text(tools: list[ToolDefinition]) -> str:
    """What a model is told about tools that it calls in its text."""
    for tool in tools:
        if tool.native is not None:
            raise UsageError(f"the tool {tool.name!r} is one of the provider's own; prefill mode has none.")
    listed = "\n".join(
        json_bytes({"name": tool.name, "description": tool.description, "parameters": tool.parameters}).decode()
        for tool in tools
    )
    return (
        "You can use tools. Each line is one tool with the JSON schema of its parameters:\n"
        f"<functions>\n{listed}\n</functions>\n"
        "To call tools, write a block like this one and stop; the results follow in <function_results>:\n"
        '<function_calls>\n<invoke name="tool_name">\n<parameter name="parameter_name">value</parameter>\n'
        f"</invoke>\n{CALLS_END}"
    )
