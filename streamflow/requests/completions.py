"""Bodies for text completions: one prompt, written as a log of participants."""

from typing import Any

from streamflow.requests.draft import Draft, joined_text, place_options

_OPTIONS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop",
    "seed": "seed",
}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request."""
    prompt = joined_text([block for message in draft.messages for block in message.content])
    made: dict[str, Any] = {"model": draft.model, "prompt": prompt}
    if draft.stream:
        made["stream"] = True
    place_options(made, draft, _OPTIONS)
    return made
