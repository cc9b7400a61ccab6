"""Bodies for the chat of IBM's watsonx: chat completions, with the model under another name."""

from typing import Any

from streamflow.requests import openai_chat
from streamflow.requests.draft import Draft


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request; streaming is part of the address. ``project_id`` or ``space_id`` is an option."""
    made = openai_chat.body(draft)
    made["model_id"] = made.pop("model")
    made.pop("stream", None)
    return made
