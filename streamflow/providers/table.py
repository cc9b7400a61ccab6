"""The table of providers. A vendor that speaks a known dialect is a row; a quirk is a named field of its row."""

import difflib

from streamflow.errors import UsageError
from streamflow.providers.anthropic import Anthropic
from streamflow.providers.bedrock import BedrockConverse
from streamflow.providers.cohere import Cohere
from streamflow.providers.gemini import Gemini
from streamflow.providers.google_interactions import GoogleInteractions
from streamflow.providers.ollama import Ollama
from streamflow.providers.openai_assistants import OpenAIAssistants
from streamflow.providers.openai_chat import OpenAIChat
from streamflow.providers.openai_responses import OpenAIResponses
from streamflow.providers.provider import Provider
from streamflow.providers.watsonx import Watsonx

_CHAT = (OpenAIChat, OpenAIResponses)
_RESPONSES = (OpenAIResponses, OpenAIChat)

PROVIDERS: dict[str, Provider] = {
    row.name: row
    for row in (
        Provider("openai", _CHAT, title="OpenAI chat completions"),
        Provider("openai-responses", _RESPONSES, title="OpenAI Responses, Codex"),
        Provider("openai-completions", _CHAT, title="OpenAI text completions"),
        Provider("openai-assistants", (OpenAIAssistants,), title="OpenAI assistants"),
        Provider("azure", _CHAT, title="Azure OpenAI"),
        Provider("anthropic", (Anthropic,), title="Anthropic messages"),
        Provider("gemini", (Gemini,), title="Google Gemini"),
        Provider("vertex", (Gemini,), title="Google Vertex AI"),
        Provider("google-interactions", (GoogleInteractions,), title="Google Interactions"),
        Provider("bedrock", (BedrockConverse,), framing="eventstream", title="AWS Bedrock"),
        Provider("mistral", _CHAT, title="Mistral"),
        Provider("xai", _CHAT, title="xAI"),
        Provider("deepseek", _CHAT, title="DeepSeek"),
        Provider("perplexity", _CHAT, title="Perplexity"),
        Provider("groq", _CHAT, title="Groq"),
        Provider("openrouter", _CHAT, title="OpenRouter"),
        Provider("cohere", (Cohere,), title="Cohere"),
        Provider("ollama", (Ollama, OpenAIChat), framing="ndjson", title="Ollama"),
        Provider("vllm", _CHAT, title="vLLM"),
        Provider("cerebras", _CHAT, title="Cerebras"),
        Provider("together", _CHAT, title="Together"),
        Provider("fireworks", _CHAT, title="Fireworks"),
        Provider("huggingface", _CHAT, title="Hugging Face"),
        Provider("moonshot", _CHAT, title="Moonshot"),
        Provider("alibaba", _CHAT, title="Alibaba"),
        Provider("zai", _CHAT, title="Z.ai"),
        Provider("watsonx", (Watsonx, OpenAIChat), end="either", title="IBM watsonx"),
        # Writer never sends [DONE]; its chat ends with a chunk that has the usage, after the finish reason.
        Provider("writer", _CHAT, end="usage", title="Writer"),
        # Snowflake never sends a finish reason: [DONE] is all there is.
        Provider("snowflake", _CHAT, title="Snowflake Cortex"),
        Provider("openai-compatible", _CHAT, end="either", title="any OpenAI-compatible server"),
    )
}


def providers() -> list[str]:
    """The names that `normalize_provider` and the others take.

    >>> "anthropic" in providers()
    True
    """
    return list(PROVIDERS)


def provider_row(name: str) -> Provider:
    """The row of a name, or an error that says which names there are.

    >>> provider_row("openai").framing
    'sse'
    """
    row = PROVIDERS.get(name)
    if row is None:
        near = difflib.get_close_matches(str(name).lower(), PROVIDERS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"unknown provider {name!r}.{hint} Known: {', '.join(PROVIDERS)}.")
    return row
