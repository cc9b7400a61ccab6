"""Inputs that are kept with the project: those that reach much together, and those that once found something.

A file for each target, one JSON string a line, whose characters are the bytes.
"""

import json
from pathlib import Path

_FOLDER = Path(__file__).parent
KINDS = ("corpus", "findings")


def load(kind: str, target: str) -> list[bytes]:
    """The inputs of a target; none where there is no file."""
    path = _FOLDER / kind / f"{target}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line).encode("latin-1") for line in path.read_text().splitlines()]


def save(kind: str, target: str, inputs: list[bytes]) -> Path:
    """Write the file of a target anew."""
    path = _FOLDER / kind / f"{target}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(data.decode("latin-1")) + "\n" for data in inputs))
    return path
