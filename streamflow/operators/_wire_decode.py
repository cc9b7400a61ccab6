from streamflow.events import Frame
from streamflow.providers.table import provider_row
from streamflow.stage import Operator, lift
from streamflow.wire.intake import MAX_EVENT_BYTES
from streamflow.wire.sniff import WireDecoder


def wire_decode(
    provider: str,
    content_type: str | None = None,
    *,
    framing: str = "auto",
    max_event_bytes: int = MAX_EVENT_BYTES,
) -> Operator[bytes, Frame]:
    """Bytes to frames in whatever framing they come: by provider, content type and first bytes.

    ```
    bytes   --"[{..}"----",{..}]"--|
    frames  ----F({..})----F({..})-|
    ```

    >>> import streamflow as sf
    >>> [frame.data for frame in sf.run([b'[{"a":1}', b',{"b":2}]'], wire_decode("gemini"))]
    ['{"a":1}', '{"b":2}']
    """
    default = provider_row(provider).framing

    def make_stage() -> WireDecoder:
        return WireDecoder(framing, default=default, content_type=content_type, max_event_bytes=max_event_bytes)

    make_stage()  # wrong options fail here, not at the first item
    return lift(make_stage, "wire_decode")
