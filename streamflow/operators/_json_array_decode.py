from streamflow.events import Frame
from streamflow.stage import Operator, lift
from streamflow.wire.intake import MAX_EVENT_BYTES
from streamflow.wire.json_array import JsonArrayDecoder


def json_array_decode(*, max_event_bytes: int = MAX_EVENT_BYTES) -> Operator[bytes, Frame]:
    """Bytes of one long JSON array to its elements, each delivered when it closes.

    ```
    bytes   --'[{"a"'--':1},'-----'{"b":2}]'--|
    frames  ------------F({"a":1})-F({"b":2})-|
    ```

    >>> import streamflow as sf
    >>> [frame.data for frame in sf.run([b'[{"a"', b':1},\\n{"b":2}]'], json_array_decode())]
    ['{"a":1}', '{"b":2}']
    """
    return lift(lambda: JsonArrayDecoder(max_event_bytes=max_event_bytes), "json_array_decode")
