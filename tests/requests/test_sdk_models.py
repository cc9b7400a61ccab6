"""Bodies against the request models of the vendors' own SDKs."""

from typing import Any

import pytest

import streamflow as sf
from streamflow.requests.blocks import AudioBlock, Base64Source, DocumentBlock, ImageBlock, TextBlock, UrlSource
from tests.requests.test_dialects import TOOLS, conversation
from tests.requests.test_history import loop_events
from tests.requests.typed_dicts import problems


def models() -> dict[str, Any]:
    anthropic = pytest.importorskip("anthropic.types.message_create_params")
    chat = pytest.importorskip("openai.types.chat.completion_create_params")
    completions = pytest.importorskip("openai.types.completion_create_params")
    responses = pytest.importorskip("openai.types.responses.response_create_params")
    runs = pytest.importorskip("openai.types.beta.thread_create_and_run_params")
    return {
        "anthropic": anthropic.MessageCreateParamsStreaming,
        "openai": chat.CompletionCreateParamsStreaming,
        "openai-completions": completions.CompletionCreateParamsStreaming,
        "openai-responses": responses.ResponseCreateParamsStreaming,
        "openai-assistants": runs.ThreadCreateAndRunParamsStreaming,
    }


def check(provider: str, messages: Any, **options: Any) -> None:
    body = sf.build_request(provider, messages, model="m", **options).json
    assert problems(models()[provider], body) == []


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-responses"])
def test_a_conversation_with_everything(provider: str) -> None:
    options = {} if provider == "anthropic" else {"temperature": 0.5}  # Anthropic's newest SDK has dropped it
    check(provider, conversation(provider), tools=TOOLS, max_tokens=5, tool_choice="now", **options)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-responses"])
def test_a_history_from_events(provider: str) -> None:
    check(provider, ["q", *sf.history_of(loop_events(provider), provider), "next"])


@pytest.mark.parametrize("provider", ["openai-completions", "openai-assistants"])
def test_a_simple_conversation(provider: str) -> None:
    check(provider, [sf.Message.system("Be brief."), "hi", sf.Message.assistant("Hello"), "bye"], max_tokens=5)


def test_prefill() -> None:
    log = [sf.Message.user("Hello", participant="Alice")]
    assert problems(models()["anthropic"], sf.build_request("anthropic", log, "prefill", model="m").json) == []


@pytest.mark.parametrize(
    ("provider", "block"),
    [
        ("anthropic", ImageBlock(source=UrlSource(url="https://e.org/a.png"))),
        ("anthropic", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="), title="A")),
        ("anthropic", DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk="))),
        ("openai", ImageBlock(source=UrlSource(url="https://e.org/a.png"), detail="low")),
        ("openai", AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk="))),
        ("openai", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="))),
        ("openai-responses", ImageBlock(source=UrlSource(url="https://e.org/a.png"))),
        ("openai-responses", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="))),
        ("openai-responses", DocumentBlock(source=UrlSource(url="https://e.org/a.pdf"))),
    ],
)
def test_media(provider: str, block: Any) -> None:
    check(provider, [sf.Message.user([TextBlock(text="look"), block])])


def test_the_check_itself_finds_what_is_wrong() -> None:
    body = sf.build_request("openai", conversation("openai"), model="m").json
    model = models()["openai"]
    assert problems(model, {**body, "nope": 1}) == ["body: nope is unknown"]
    assert problems(model, {"stream": True, "model": "m"}) == ["body: messages is missing"]
    assert problems(model, {**body, "messages": [{"role": "user", "contents": "x"}]})
