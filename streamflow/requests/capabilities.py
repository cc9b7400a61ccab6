"""What each provider's endpoint can do, as a table for people."""

from streamflow.requests.endpoints import ENDPOINTS, Endpoint

_COLUMNS = ("name", "address", "key", "tools", "images", "prefill", "usage", "thoughts go back")
_THOUGHTS = {
    "gemini": "signed",
    "google_interactions": "signed",
    "openai_responses": "as items",
    "ollama": "`thinking`",
    "cohere": "as the plan",
}


def capability_table() -> str:
    """A Markdown table of all rows, made from the rows themselves.

    >>> capability_table().splitlines()[0]
    '| name | address | key | tools | images | prefill | usage | thoughts go back |'
    """
    rows = [_row(row) for row in ENDPOINTS.values()]
    lines = [_COLUMNS, ("---",) * len(_COLUMNS), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def _row(row: Endpoint) -> tuple[str, ...]:
    variables = " or ".join(f"`{name}`" for name in row.key_env)
    return (
        f"`{row.name}`",
        f"`{row.base_url}`" if row.base_url else "given by `base_url`",
        variables + ("" if row.key_required else ", if any"),
        _mark(row.tools),
        _mark(row.images),
        _mark(row.prefill),
        "asked for" if row.include_usage else "comes by itself",
        _thoughts(row),
    )


def _mark(able: bool) -> str:
    return "yes" if able else "no"


def _thoughts(row: Endpoint) -> str:
    if row.signed_thinking:
        return "signed"
    if row.reasoning is not None:
        return f"`{row.reasoning}`" if row.reasoning != "parts" else "as parts"
    return _THOUGHTS.get(row.dialect, "no")
