"""Bodies for OpenAI's assistants: a thread made and run in one request."""

from typing import Any

from streamflow.requests.draft import Draft, joined_text, place_options
from streamflow.requests.openai_chat import function_tool, write_part
from streamflow.requests.tool_definitions import written_tools

_OPTIONS = {"max_tokens": "max_completion_tokens", "temperature": "temperature", "top_p": "top_p"}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request; ``model`` names the assistant (``asst_...``)."""
    if any(message.tool_calls or message.tool_results for message in draft.messages):
        raise draft.unsupported("tool calls and results in a new thread", "A run takes its results by itself.")
    made: dict[str, Any] = {
        "assistant_id": draft.model,
        "thread": {
            "messages": [
                {
                    "role": "assistant" if message.role == "assistant" else "user",
                    "content": [part for block in message.content if (part := write_part(draft, block)) is not None],
                }
                for message in draft.spoken()
                if message.content
            ]
        },
    }
    if words := joined_text(draft.instructions()):
        made["instructions"] = words
    if draft.tools:
        made["tools"] = written_tools(draft.tools, function_tool)
    if choice := draft.options.get("tool_choice"):
        made["tool_choice"] = choice
    if draft.stream:
        made["stream"] = True
    place_options(made, draft, _OPTIONS)
    return made
