"""The conversation as a log of participants: names, stops, the end-of-turn token, tags."""

from typing import Any

import pytest

import streamflow as sf
from streamflow.requests.blocks import Base64Source, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from streamflow.requests.messages import Message
from streamflow.requests.participants import NameContext, Suppression, participant_stops
from tests.requests.validators import VALIDATORS

LOG = [Message.user("Hello", participant="Alice"), Message.user("Hi there", participant="Bob")]


def body(provider: str, messages: Any, **options: Any) -> Any:
    return sf.build_request(provider, messages, "prefill", model="m", assistant_name="Claude", **options).json


def log_of(provider: str, messages: Any, **options: Any) -> str:
    built = body(provider, messages, **options)
    return {
        "anthropic": lambda: built["messages"][-1]["content"][-1]["text"],
        "gemini": lambda: built["contents"][-1]["parts"][-1]["text"],
        "openai-completions": lambda: built["prompt"],
    }[provider]()


def test_gemini_ends_each_turn_with_the_token() -> None:
    assert log_of("gemini", LOG) == "Alice: Hello<|eot|>Bob: Hi there<|eot|>Claude:"
    built = body("gemini", LOG)
    assert [content["role"] for content in built["contents"]] == ["user", "model"]
    assert built["generationConfig"]["stopSequences"] == ["\nBob:", "\nAlice:", "<|eot|>"]
    VALIDATORS["gemini"](built)


def test_completions_write_the_log_as_the_prompt() -> None:
    built = body("openai-completions", LOG, system="A chat.")
    assert built["prompt"] == "A chat.\n\nAlice: Hello<|eot|>\n\nBob: Hi there<|eot|>\n\nClaude:"
    assert built["stop"] == ["\n\nBob:", "\nBob:", "\n\nAlice:", "<|eot|>"]  # four is all that there is room for


def test_completions_have_no_other_mode() -> None:
    plain = sf.build_request("openai-completions", LOG, model="m", assistant_name="Claude").json
    assert plain == body("openai-completions", LOG)


def test_anthropic_writes_a_plain_log_that_the_assistant_goes_on_with() -> None:
    built = body("anthropic", LOG, system="A chat.")
    assert built["system"] == "A chat."
    assert built["messages"][0]["role"] == "user"
    assert log_of("anthropic", LOG) == "Alice: Hello\n\nBob: Hi there\n\nClaude:"
    assert built["stop_sequences"] == ["\nBob:", "\nAlice:"]
    VALIDATORS["anthropic"](built)


@pytest.mark.parametrize("token", ["<end>", "\x03"])
def test_the_token_is_configurable(token: str) -> None:
    assert log_of("gemini", LOG, eot_token=token) == f"Alice: Hello{token}Bob: Hi there{token}Claude:"
    assert body("gemini", LOG, eot_token=token)["generationConfig"]["stopSequences"][-1] == token


def test_the_token_can_be_left_out() -> None:
    assert log_of("openai-completions", LOG, eot_token="") == "Alice: Hello\n\nBob: Hi there\n\nClaude:"
    assert "" not in body("openai-completions", LOG, eot_token="")["stop"]


def test_the_token_need_not_stop_the_model() -> None:
    stops = body("gemini", LOG, stop_on_eot=False)["generationConfig"]["stopSequences"]
    assert "<|eot|>" not in stops


def test_a_begun_turn_of_the_assistant_is_left_open() -> None:
    begun = [*LOG, Message.assistant("I think ", participant="Claude")]
    assert log_of("gemini", begun) == "Alice: Hello<|eot|>Bob: Hi there<|eot|>Claude: I think"


def test_messages_without_names_have_those_of_their_roles() -> None:
    assert log_of("anthropic", ["hi"]) == "User: hi\n\nClaude:"
    named = sf.build_request("anthropic", ["hi"], "prefill", model="m", user_name="Human").json
    assert named["messages"][-1]["content"][0]["text"] == "Human: hi\n\nAssistant:"


def test_name_and_separator_formats() -> None:
    options = {"name_format": "[{name}] ", "message_separator": "\n"}
    assert log_of("anthropic", LOG, **options) == "[Alice] Hello\n[Bob] Hi there\n[Claude]"
    with pytest.raises(sf.UsageError, match="name_format"):
        body("anthropic", LOG, name_format="{who}: ")


# -- stop sequences


def speakers(count: int) -> list[Message]:
    return [Message.user("x", participant=f"P{number}") for number in range(count)]


def test_stops_are_newest_first_and_at_most_ten() -> None:
    stops = participant_stops(speakers(15), "Claude")
    assert stops == [f"\nP{number}:" for number in range(14, 4, -1)]
    assert body("anthropic", speakers(15))["stop_sequences"] == stops


def test_who_spoke_again_is_newest() -> None:
    again = [*LOG, Message.user("And?", participant="Alice")]
    assert participant_stops(again, "Claude") == ["\nAlice:", "\nBob:"]


def test_the_assistant_never_stops_itself() -> None:
    log = [*LOG, Message.assistant("Yes.", participant="Claude"), Message.user("Ok", participant="Bob")]
    assert participant_stops(log, "Claude") == ["\nBob:", "\nAlice:"]


@pytest.mark.parametrize(("most", "expected"), [(0, []), (1, ["\nBob:"]), (2, ["\nBob:", "\nAlice:"])])
def test_the_number_of_participants_is_configurable(most: int, expected: list[str]) -> None:
    assert participant_stops(LOG, "Claude", most=most) == expected
    with pytest.raises(sf.UsageError, match="max_participants_for_stop"):
        participant_stops(LOG, "Claude", most=-1)


def test_what_the_caller_stops_on_always_has_room() -> None:
    stops = body("gemini", speakers(15), stop=["A", "B"])["generationConfig"]["stopSequences"]
    assert stops == ["\nP14:", "\nP13:", "<|eot|>", "A", "B"]


# -- suppression of names


def test_defaults() -> None:
    rules = Suppression()
    assert rules.suppress_empty_names
    assert not rules.suppress_consecutive_same_participant
    assert list(rules.always_suppress_participants) == []
    assert rules.custom_suppression is None


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_empty_names_are_left_out_by_default(name: str) -> None:
    log = [Message.user("It rains.", participant=name), *LOG]
    assert log_of("gemini", log).startswith("It rains.<|eot|>Alice:")
    assert log_of("gemini", log, suppress_empty_names=False).startswith(f"{name}: It rains.")


def test_consecutive_turns_repeat_the_name_by_default() -> None:
    log = [Message.user("One.", participant="Alice"), Message.user("Two.", participant="Alice")]
    assert log_of("gemini", log) == "Alice: One.<|eot|>Alice: Two.<|eot|>Claude:"
    assert log_of("gemini", log, suppress_consecutive_same_participant=True) == "Alice: One.<|eot|>Two.<|eot|>Claude:"


def test_some_names_are_always_left_out() -> None:
    assert log_of("gemini", LOG, always_suppress_participants=["Bob"]) == "Alice: Hello<|eot|>Hi there<|eot|>Claude:"


def test_a_predicate_of_the_caller_decides_too() -> None:
    seen: list[tuple[str | None, str | None, NameContext]] = []

    def predicate(message: Message, previous: Message | None, context: NameContext) -> bool:
        seen.append((message.participant, previous.participant if previous else None, context))
        return message.participant == "Alice"

    log = [Message.user("x", participant=""), *LOG]
    written = log_of("gemini", log, suppression=Suppression(custom_suppression=predicate))
    assert written == "x<|eot|>Hello<|eot|>Bob: Hi there<|eot|>Claude:"
    assert ("Alice", "", NameContext(is_consecutive=False, is_empty=False)) in seen
    assert ("Bob", "Alice", NameContext(is_consecutive=False, is_empty=False)) in seen


def test_rules_may_be_a_dict_but_must_be_known() -> None:
    assert "Alice" not in log_of("gemini", LOG, suppression={"always_suppress_participants": ["Alice"]})
    with pytest.raises(sf.UsageError, match="suppress_empty_names"):
        body("gemini", LOG, suppression={"suppress_all": True})
    with pytest.raises(sf.UsageError, match="not both"):
        body("gemini", LOG, suppression={}, suppress_empty_names=False)


def test_suppression_does_not_touch_the_messages_mode() -> None:
    built = sf.build_request("openai", LOG, model="m").json
    assert [message["name"] for message in built["messages"]] == ["Alice", "Bob"]


# -- blocks as tags


def test_calls_results_and_what_follows_are_one_turn() -> None:
    log = [
        Message.user("Weather?", participant="Alice"),
        Message.assistant(
            [
                ThinkingBlock(text="hm"),
                TextBlock(text="Let me see."),
                ToolCallBlock(id="c1", name="weather", input={"city": "Rome", "days": 2}),
            ],
            participant="Claude",
        ),
        Message.tool_result("c1", 'warm & "dry"'),
    ]
    written = log_of("anthropic", log)
    assert written == (
        "Alice: Weather?\n\nClaude: <thinking>hm</thinking>\nLet me see.\n"
        '<function_calls>\n<invoke name="weather">\n<parameter name="city">Rome</parameter>\n'
        '<parameter name="days">2</parameter>\n</invoke>\n</function_calls>\n'
        '<function_results>\n<result tool_use_id="c1">\nwarm &amp; &quot;dry&quot;\n</result>\n</function_results>'
    )


def test_failed_tools_have_their_own_tag() -> None:
    log = [
        "q",
        Message.assistant([ToolCallBlock(id="c1", name="f")]),
        Message.tool_result("c1", "it's broken", is_error=True),
    ]
    assert '<error tool_use_id="c1">\nit&apos;s broken\n</error>' in log_of("anthropic", log)


def test_tools_are_described_in_the_instructions_and_their_end_stops_the_model() -> None:
    def weather(city: str) -> str:
        """The weather."""
        return city

    built = body("anthropic", LOG, tools=[weather])
    assert '"name":"weather"' in built["system"]
    assert "tools" not in built
    assert built["stop_sequences"] == ["\nBob:", "\nAlice:", "</function_calls>"]


def test_thinking_can_be_opened() -> None:
    assert log_of("anthropic", LOG, open_thinking=True).endswith("Claude:\n<thinking>")


def test_pictures_stand_in_a_turn_of_the_user() -> None:
    picture = ImageBlock(source=Base64Source(media_type="image/png", data="aGk="))
    built = body("anthropic", [Message.user(["See:", picture], participant="Alice")])
    assert [turn["role"] for turn in built["messages"]] == ["user", "assistant", "user", "assistant"]
    VALIDATORS["anthropic"](built)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "cohere", "perplexity"])
def test_a_provider_that_cannot_go_on_says_who_can(provider: str) -> None:
    with pytest.raises(sf.UsageError, match="anthropic"):
        body(provider, LOG)


def test_in_a_log_the_name_tells_who_speaks() -> None:
    log = [
        {"participant": "Alice", "content": "Hello"},
        {"participant": "Claude", "content": "Hi."},
        {"participant": "Alice", "content": "How are you?"},
    ]
    assert log_of("gemini", log) == "Alice: Hello<|eot|>Claude: Hi.<|eot|>Alice: How are you?<|eot|>Claude:"
    begun = [*log, {"participant": "Claude", "content": "I am"}]
    assert log_of("gemini", begun).endswith("Claude: I am")
    assert body("anthropic", log)["stop_sequences"] == ["\nAlice:"]


@pytest.mark.parametrize("option", ["eot_token", "assistant_name", "suppress_empty_names", "stop_on_eot"])
def test_options_of_the_log_have_no_place_in_the_messages_mode(option: str) -> None:
    with pytest.raises(sf.UsageError, match=f"mode='prefill': {option}"):
        sf.build_request("anthropic", ["hi"], model="m", **{option: "x"})
