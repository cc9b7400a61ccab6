from streamflow.events import Frame
from streamflow.stage import Operator, lift
from streamflow.wire.intake import MAX_EVENT_BYTES
from streamflow.wire.ndjson import NdjsonDecoder


def ndjson_decode(*, max_event_bytes: int = MAX_EVENT_BYTES) -> Operator[bytes, Frame]:
    """Bytes to the lines of newline-delimited JSON; blank lines are skipped.

    ```
    bytes   --'{"a"'--':1}\\n{"b":2}'-------|
    frames  ----------F({"a":1})-F({"b":2})|
    ```

    >>> import streamflow as sf
    >>> [frame.data for frame in sf.run([b'{"a"', b':1}\\n{"b":2}'], ndjson_decode())]
    ['{"a":1}', '{"b":2}']
    """
    return lift(lambda: NdjsonDecoder(max_event_bytes=max_event_bytes), "ndjson_decode")
