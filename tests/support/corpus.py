"""The shared corpus of recorded streams, where it is at hand. It is data of others and never part of the project."""

import json
from pathlib import Path
from typing import Any

SHARED = Path(__file__).resolve().parents[3] / "shared"
CORPUS = SHARED / "corpus"

_BY_PROTOCOL = {
    "openai_responses": {"openai": "openai-responses", "openai_codex": "openai-responses"},
    "openai_completions": {"openai": "openai-completions"},
    "openai_assistants": {"openai": "openai-assistants"},
    "google_interactions": {"gemini": "google-interactions"},
}
_RENAMED = {
    "moonshotai": "moonshot",
    "open_responses": "openai-compatible",
    "local_openai": "openai-compatible",
    "anthropic_openai_compat": "openai-compatible",
    "bedrock_mantle": "openai-compatible",
    "crusoe": "openai-compatible",
}


def streams() -> list[dict[str, Any]]:
    """The manifest's rows with one right answer; nothing when the corpus is not there."""
    manifest = CORPUS / "manifest.json"
    if not manifest.exists():
        return []
    return [row for row in json.loads(manifest.read_text()) if not row["ambiguous"]]


def provider_name(row: dict[str, Any]) -> str:
    """The name of the project for a row of the manifest."""
    provider: str = row["provider"]
    by_protocol = _BY_PROTOCOL.get(row["protocol"], {})
    return by_protocol.get(provider, _RENAMED.get(provider, provider))


def wire(row: dict[str, Any]) -> bytes:
    """The recorded bytes."""
    return (CORPUS / f"{row['key']}.wire").read_bytes()


def expected(row: dict[str, Any]) -> dict[str, Any]:
    """What the bytes say."""
    answer: dict[str, Any] = json.loads((CORPUS / f"{row['key']}.expect.json").read_text())
    return answer
