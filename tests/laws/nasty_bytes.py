"""Bodies of responses with nasty text inside, in every framing."""

import json
import random
from typing import Any

from streamflow.testing.laws import nasty_text
from streamflow.wire.eventstream import encode_message


def openai_payloads(rng: random.Random) -> list[Any]:
    """Chat completion chunks: text, perhaps a call, an end; now and then nonsense."""
    out: list[Any] = []
    for _ in range(rng.randint(1, 4)):
        roll = rng.random()
        if roll < 0.7:
            delta: dict[str, Any] = {"content": nasty_text.text(rng, 5)}
        elif roll < 0.8:
            delta = {"reasoning_content": nasty_text.text(rng, 2)}
        else:
            call = {
                "index": rng.randint(0, 2),
                "id": rng.choice((None, "c1", "c2")),
                "function": {"name": "f", "arguments": '{"a":'},
            }
            delta = {"tool_calls": [call]}
        out.append({"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta}]})
    out.append(
        {
            "id": "1",
            "choices": [{"index": 0, "delta": {}, "finish_reason": rng.choice(("stop", "length", "tool_calls"))}],
        }
    )
    return out


def sse(rng: random.Random) -> bytes:
    """Server-sent events with any line ends, comments and split data."""
    line = rng.choice(("\n", "\r\n", "\r"))
    out = [rng.choice(("", "\ufeff", f": hello{line}"))]
    for payload in openai_payloads(rng):
        text = json.dumps(payload, ensure_ascii=rng.random() < 0.5)
        space = rng.choice((" ", ""))
        if rng.random() < 0.1:
            out.append(f"event: ping{line}{line}")
        if rng.random() < 0.1:
            out.append(f"id: {rng.randint(1, 9)}{line}retry: 10{line}: note{line}")
        out.append(f"data:{space}{text}{line}{line}")
    if rng.random() < 0.9:
        out.append(f"data: [DONE]{line}{line}")
    body = "".join(out).encode()
    return body[: rng.randrange(1, len(body))] if rng.random() < 0.2 else body


def ndjson(rng: random.Random) -> bytes:
    """One document a line."""
    line = rng.choice(("\n", "\r\n"))
    body = line.join(json.dumps(payload, ensure_ascii=rng.random() < 0.5) for payload in openai_payloads(rng)).encode()
    return body[: rng.randrange(1, len(body))] if rng.random() < 0.2 else body


def json_array(rng: random.Random) -> bytes:
    """One long array."""
    body = json.dumps(openai_payloads(rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1))).encode()
    return body[: rng.randrange(1, len(body))] if rng.random() < 0.2 else body


def eventstream(rng: random.Random) -> bytes:
    """AWS messages; now and then a broken byte."""
    body = b"".join(
        encode_message({":event-type": "chunk", ":message-type": "event"}, json.dumps(payload).encode())
        for payload in openai_payloads(rng)
    )
    if rng.random() < 0.15:
        place = rng.randrange(len(body))
        body = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
    return body[: rng.randrange(1, len(body))] if rng.random() < 0.2 else body


def recut_bytes(body: bytes, rng: random.Random, how: str) -> list[bytes]:
    """The body whole, by the byte, or cut at random."""
    if how == "whole" or len(body) < 2:
        return [body]
    if how == "single":
        return [body[place : place + 1] for place in range(len(body))]
    places = sorted({rng.randrange(1, len(body)) for _ in range(rng.randint(1, 6))})
    return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
