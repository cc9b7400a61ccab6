"""Arguments at JSON paths, written as JSON text."""

import json
import random
from typing import Any

import pytest

from streamflow.providers.gemini_arguments import ArgumentWriter, json_text, parse_path


def leaves(value: Any, path: str = "$") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}['{key}']")]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in leaves(inner, f"{path}[{index}]")]
    return [(path, value)]


def written(steps: list[tuple[str, Any]], rng: random.Random | None = None) -> str:
    writer = ArgumentWriter()
    out = writer.begin()
    for path, value in steps:
        if isinstance(value, str):
            cut = rng.randrange(len(value) + 1) if rng else 0
            out += writer.string(path, value[:cut]) + writer.string(path, value[cut:])
        else:
            out += writer.value(path, value)
    return out + writer.end()


def random_value(rng: random.Random, depth: int) -> Any:
    kind = rng.choice(["text", "number", "bool", "null", "list", "dict"] if depth else ["text", "number"])
    if kind == "list":
        return [random_value(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    if kind == "dict":
        return {f"k{i}": random_value(rng, depth - 1) for i in range(rng.randint(1, 3))}
    return {"text": 'a"\\\n\u2028東🎈', "number": rng.randint(-9, 9), "bool": rng.random() < 0.5, "null": None}[kind]


@pytest.mark.parametrize("seed", range(50))
def test_any_object_is_written_back(seed: int) -> None:
    rng = random.Random(seed)
    value = {f"top {i}": random_value(rng, 3) for i in range(3)}
    text = written(leaves(value), rng)
    assert json.loads(text) == value
    assert text == json_text(value)


@pytest.mark.parametrize("seed", range(30))
def test_any_order_of_keys_gives_the_same_value(seed: int) -> None:
    rng = random.Random(seed)
    value = {f"a{i}": {f"b{j}": {"c": rng.randint(0, 9), "d": "x" * j} for j in range(3)} for i in range(3)}
    steps = leaves(value)
    rng.shuffle(steps)
    assert json.loads(written(steps, rng)) == value


def test_going_back_is_written_at_the_end() -> None:
    steps = [("$.a.x", 1), ("$.b", "B"), ("$.a.y", "Y"), ("$.c", 2), ("$.a.z", 3)]
    assert written(steps) == '{"a":{"x":1},"b":"B","c":2,"a":{"x":1,"y":"Y","z":3}}'


def test_fragments_come_out_at_once() -> None:
    writer = ArgumentWriter()
    assert [writer.begin(), writer.string("$.t", "on"), writer.string("$.t", "e\n"), writer.end()] == [
        "{",
        '"t":"on',
        "e\\n",
        '"}',
    ]


def test_no_arguments_and_whole_members() -> None:
    writer = ArgumentWriter()
    assert writer.begin() + writer.end() == "{}"
    writer = ArgumentWriter()
    assert writer.begin() + writer.member("a\n'", [1]) + writer.end() == '{"a\\n\'":[1]}'


@pytest.mark.parametrize("path", ["", "$", "a.b", "$.a[*]", "$..a", "$[0]", "$.a[1", "$.*"])
def test_paths_that_name_no_place_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="place"):
        parse_path(path)


@pytest.mark.parametrize(
    "steps", [[("$.a", "text"), ("$.a.b", 1)], [("$.a[0]", 1), ("$.a.b", 1)], [("$.a[999999999]", 1)]]
)
def test_contradictions_are_refused(steps: list[tuple[str, Any]]) -> None:
    with pytest.raises(ValueError, match=r"two kinds|no place"):
        written(steps)
