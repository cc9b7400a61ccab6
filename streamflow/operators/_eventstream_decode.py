from streamflow.events import Frame
from streamflow.stage import Operator, lift
from streamflow.wire.eventstream import EventStreamDecoder
from streamflow.wire.intake import MAX_EVENT_BYTES


def eventstream_decode(*, max_event_bytes: int = MAX_EVENT_BYTES) -> Operator[bytes, Frame]:
    """Bytes of an AWS event stream to its messages; both checksums are verified.

    ```
    bytes   --(half a message)--(the rest)--------|
    frames  --------------------F(contentBlock)---|
    ```

    >>> import streamflow as sf
    >>> from streamflow.wire.eventstream import encode_message
    >>> message = encode_message({":event-type": "messageStop"}, b"{}")
    >>> [frame.event for frame in sf.run([message[:9], message[9:]], eventstream_decode())]
    ['messageStop']
    """
    return lift(lambda: EventStreamDecoder(max_event_bytes=max_event_bytes), "eventstream_decode")
