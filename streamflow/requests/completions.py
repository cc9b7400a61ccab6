"""Bodies for text completions: one prompt, written as a log of participants."""

from typing import Any

from streamflow.requests.draft import Draft, place_options

_OPTIONS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop",
    "seed": "seed",
}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request; the log of participants is its prompt."""
    made: dict[str, Any] = {"model": draft.model, "prompt": draft.prompt}
    if draft.stream:
        made["stream"] = True
    place_options(made, draft, _OPTIONS)
    return made
