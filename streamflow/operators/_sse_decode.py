from streamflow.events import Frame
from streamflow.stage import Operator, lift
from streamflow.wire.intake import MAX_EVENT_BYTES
from streamflow.wire.sse import SseDecoder


def sse_decode(*, tail: str = "drop", max_event_bytes: int = MAX_EVENT_BYTES) -> Operator[bytes, Frame]:
    """Bytes to server-sent events, by the WHATWG rules to the letter.

    An event that is still open when the bytes end is dropped, or delivered with ``tail="deliver"``.

    ```
    bytes   --"data: a\\n"--"\\n"------"data: b\\n\\n"--|
    frames  -----------------F(a)-----F(b)-----------|
    ```

    >>> import streamflow as sf
    >>> [frame.data for frame in sf.run([b"data: a", b"\\n\\ndata: b\\n\\n"], sse_decode())]
    ['a', 'b']
    """
    SseDecoder(tail=tail, max_event_bytes=max_event_bytes)  # wrong options fail here, not at the first item
    return lift(lambda: SseDecoder(tail=tail, max_event_bytes=max_event_bytes), "sse_decode")
