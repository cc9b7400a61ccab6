"""What the simulator says: the last user message decides."""

from collections.abc import Callable

import msgspec

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, ErrorEvent, HttpError, Reply, Text, Thinking, Tokens, ToolUse

CANNED = (
    "Hello! I am a simulated model, and a pleasant one. Ask me anything: I shall always answer with these words, "
    "one at a time."
)
CLOSING = "Thank you, that is what I needed to know. The tool has answered and so have I."
COMMANDS_HELP = """\
The last user message decides:
  sim:text T           say T
  sim:long N MS        say N words, one each MS milliseconds
  sim:tool NAME JSON   call a tool
  sim:think A | B      think A, then say B
  sim:error STATUS     refuse with this HTTP status
  sim:error-event      break off with an error inside the stream
  sim:429 SECONDS      refuse the first time, with Retry-After, then answer
  anything else        a friendly answer"""
BEFORE_ERROR = "This answer will not"
_REMEMBERED = 1000
_SIGNATURE = "c2ltdWxhdGVkIHNpZ25hdHVyZQ=="
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Simulator:
    """Replies by the last user message.

    ``sim:text T`` says T. ``sim:long N MS`` says N words, one each MS milliseconds. ``sim:tool NAME JSON`` calls.
    ``sim:think A | B`` thinks A and says B. ``sim:error STATUS`` refuses. ``sim:error-event`` breaks off with an error
    inside the stream. ``sim:429 SECONDS`` refuses the first time that this text comes, with ``Retry-After``, and then
    answers. Anything else gets a friendly answer, and so does the result of a tool.

    >>> Simulator().reply(Ask(text="sim:text Good morning")).parts
    (Text(text='Good morning'),)
    >>> Simulator().reply(Ask(text="sim:tool weather {\\"city\\": \\"Rome\\"}")).parts[0].name
    'weather'
    """

    def __init__(self) -> None:
        self._refused: dict[str, None] = {}
        self._count = 0

    def reply(self, ask: Ask) -> Reply:
        """The reply to a request."""
        self._count += 1
        if ask.answers_tool:
            return self._said(ask, Text(CLOSING))
        command, _, rest = ask.text.strip().partition(" ")
        handler = _COMMANDS.get(command)
        if handler is None:
            return self._said(ask, Text(CANNED))
        return handler(self, ask, rest.strip())

    def _said(self, ask: Ask, *parts: Text | Thinking | ToolUse | ErrorEvent, delay_s: float = 0.0) -> Answer:
        words = sum(len(part.text.split()) for part in parts if isinstance(part, Text | Thinking))
        thought = sum(len(part.text.split()) for part in parts if isinstance(part, Thinking))
        counts = Tokens(max(1, len(ask.text.split())), max(1, words), reasoning=thought)
        return Answer(*parts, id=str(self._count), usage=counts, delay_s=delay_s)

    def _text(self, ask: Ask, rest: str) -> Reply:
        return self._said(ask, Text(rest))

    def _long(self, ask: Ask, rest: str) -> Reply:
        count, _, pace = rest.partition(" ")
        try:
            total, milliseconds = int(count), float(pace or 0)
        except ValueError:
            return _misused("sim:long takes a number of words and the milliseconds between them, as in sim:long 50 20")
        words = (f"{_WORDS[number % len(_WORDS)]}{number}" for number in range(total))
        return self._said(ask, Text(" ".join(words)), delay_s=milliseconds / 1000)

    def _tool(self, ask: Ask, rest: str) -> Reply:
        name, _, arguments = rest.partition(" ")
        if not name:
            return _misused('sim:tool takes a name and JSON, as in sim:tool weather {"city": "Rome"}')
        try:
            value = msgspec.json.decode(arguments) if arguments.strip() else {}
        except msgspec.DecodeError:
            value = arguments  # a model that writes broken JSON
        return self._said(ask, ToolUse(name, value))

    def _think(self, ask: Ask, rest: str) -> Reply:
        thought, _, said = rest.partition("|")
        return self._said(ask, Thinking(thought.strip(), signature=_SIGNATURE), Text(said.strip()))

    def _error(self, ask: Ask, rest: str) -> Reply:
        try:
            status = int(rest)
        except ValueError:
            return _misused("sim:error takes an HTTP status, as in sim:error 503")
        return HttpError(status, f"A simulated error with status {status}.")

    def _error_event(self, ask: Ask, rest: str) -> Reply:
        return self._said(ask, Text(BEFORE_ERROR), ErrorEvent())

    def _too_many(self, ask: Ask, rest: str) -> Reply:
        if ask.text in self._refused:
            return self._said(ask, Text(CANNED))
        self._refused[ask.text] = None
        if len(self._refused) > _REMEMBERED:
            del self._refused[next(iter(self._refused))]
        return HttpError(429, "Too many requests; try again later.", headers={"retry-after": rest or "1"})


def _misused(message: str) -> HttpError:
    return HttpError(400, message)


_COMMANDS: dict[str, Callable[[Simulator, Ask, str], Reply]] = {
    "sim:text": Simulator._text,
    "sim:long": Simulator._long,
    "sim:tool": Simulator._tool,
    "sim:think": Simulator._think,
    "sim:error": Simulator._error,
    "sim:error-event": Simulator._error_event,
    "sim:429": Simulator._too_many,
}
