"""Names in a log of several participants: when they are written, and where the model must stop."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.requests.messages import INSTRUCTIONS, Message

DEFAULT_NAMES = {"user": "User", "assistant": "Assistant"}
MAX_PARTICIPANTS_FOR_STOP = 10


class NameContext(msgspec.Struct, frozen=True):
    """What a custom predicate is told beside the messages.

    >>> NameContext(is_consecutive=True).is_empty
    False
    """

    is_consecutive: bool = False
    is_empty: bool = False


class Suppression(msgspec.Struct, frozen=True, kw_only=True):
    """When the name of a participant is left out of the log. Any rule that says so is enough.

    >>> Suppression(always_suppress_participants=("Narrator",)).hides(Message.user("It rains.", participant="Narrator"))
    True
    """

    suppress_empty_names: bool = True
    suppress_consecutive_same_participant: bool = False
    always_suppress_participants: Sequence[str] = ()
    custom_suppression: Callable[[Message, Message | None, NameContext], bool] | None = None

    def hides(self, message: Message, previous: Message | None = None) -> bool:
        """True when this message is written without its speaker's name."""
        name = message.participant or ""
        context = NameContext(
            is_consecutive=previous is not None and (previous.participant or "") == name,
            is_empty=not name.strip(),
        )
        return (
            (self.suppress_empty_names and context.is_empty)
            or (self.suppress_consecutive_same_participant and context.is_consecutive)
            or name in self.always_suppress_participants
            or (self.custom_suppression is not None and bool(self.custom_suppression(message, previous, context)))
        )


def suppression_of(value: Any) -> Suppression:
    """The rules from what a caller may pass: nothing, a dict, or the rules themselves.

    >>> suppression_of({"suppress_empty_names": False}).suppress_empty_names
    False
    """
    if isinstance(value, Suppression):
        return value
    try:
        return Suppression(**(value or {}))
    except TypeError as error:
        raise UsageError(f"suppression: known rules are {', '.join(Suppression.__struct_fields__)}.") from error


def named(messages: Iterable[Message], user: str, assistant: str) -> list[Message]:
    """The same messages, each with a speaker; a name that was given as empty stays empty.

    >>> [message.participant for message in named([Message.user("hi")], "User", "Claude")]
    ['User']
    """
    names = {"user": user, "assistant": assistant}
    return [
        message
        if message.participant is not None or message.role not in names
        else message.model_copy(update={"participant": names[message.role]})
        for message in messages
    ]


def participant_stops(
    messages: Iterable[Message],
    assistant: str,
    *,
    formats: Sequence[str] = ("\n{name}:",),
    most: int = MAX_PARTICIPANTS_FOR_STOP,
) -> list[str]:
    """Stop sequences that keep the model from speaking for others: whoever spoke last comes first.

    >>> log = [Message.user("a", participant="Ada"), Message.user("b", participant="Bob")]
    >>> participant_stops(log, "Claude")
    ['\\nBob:', '\\nAda:']
    """
    if most < 0:
        raise UsageError(f"max_participants_for_stop is {most}; expected 0 (no stop sequences) or more.")
    names: list[str] = []
    for message in reversed(list(messages)):
        name = (message.participant or "").strip()
        if message.role not in INSTRUCTIONS and name and name != assistant and name not in names:
            names.append(name)
    return [form.format(name=name) for name in names[:most] for form in formats]
