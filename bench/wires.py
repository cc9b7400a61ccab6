"""Synthetic streams in the shape of the real ones, and ways to cut them."""

import orjson

WORDS = ("The", " quick", " brown", " fox", " jumps", " over", " the", " lazy", " dog", ".")


def openai_events(count: int) -> list[bytes]:
    """Chat chunks with everything that the service sends beside the text."""
    events = []
    for number in range(count):
        payload = {
            "id": "chatcmpl-bench",
            "object": "chat.completion.chunk",
            "created": 1714036975,
            "model": "gpt-bench",
            "service_tier": "default",
            "system_fingerprint": "fp_bench",
            "choices": [
                {"index": 0, "delta": {"content": WORDS[number % 10]}, "logprobs": None, "finish_reason": None}
            ],
            "usage": None,
            "obfuscation": "abcdefgh",
        }
        events.append(b"data: " + orjson.dumps(payload) + b"\n\n")
    end = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1714036975, "model": "gpt-bench"}
    end["choices"] = [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]  # type: ignore[assignment]
    events.append(b"data: " + orjson.dumps(end) + b"\n\n")
    events.append(b"data: [DONE]\n\n")
    return events


def anthropic_events(count: int) -> list[bytes]:
    """Messages events, text deltas mostly."""

    def event(kind: str, **fields: object) -> bytes:
        return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps({"type": kind, **fields}) + b"\n\n"

    message = {"id": "msg_bench", "type": "message", "role": "assistant", "model": "bench", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    events = [event("message_start", message=message)]
    events.append(event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
    for number in range(count):
        delta = {"type": "text_delta", "text": WORDS[number % 10]}
        events.append(event("content_block_delta", index=0, delta=delta))
    events.append(event("content_block_stop", index=0))
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    events.append(event("message_delta", delta=end, usage={"output_tokens": count}))
    events.append(event("message_stop"))
    return events


def gemini_events(count: int) -> list[bytes]:
    """Chunks of Gemini as server-sent events."""
    events = []
    for number in range(count + 1):
        content = {"parts": [{"text": WORDS[number % 10]}], "role": "model"}
        candidate: dict[str, object] = {"content": content, "index": 0}
        if number == count:
            candidate["finishReason"] = "STOP"
        payload = {
            "candidates": [candidate],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": number, "totalTokenCount": number + 9},
            "modelVersion": "gemini-bench",
            "responseId": "bench",
        }
        events.append(b"data: " + orjson.dumps(payload) + b"\r\n\r\n")
    return events


def recut(events: list[bytes], size: int) -> list[bytes]:
    """The same bytes in reads of one size."""
    whole = b"".join(events)
    return [whole[place : place + size] for place in range(0, len(whole), size)]
