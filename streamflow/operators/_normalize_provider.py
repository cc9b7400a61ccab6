from streamflow.events import Event, Frame
from streamflow.providers.normalizer import Normalizer
from streamflow.providers.table import provider_row
from streamflow.stage import Operator, lift


def normalize_provider(
    name: str, *, choice: int = 0, on_bad_frame: str = "error", raw: bool = False
) -> Operator[Frame, Event]:
    """Frames of one provider to the common events; bytes that end too early end in `StreamTruncated`.

    ``choice`` picks one of several answers, ``on_bad_frame="skip"`` turns a broken frame into a `Notice`, and
    ``raw=True`` adds a `Raw` event for each frame.

    ```
    frames  --F({"choices":[{"delta":{"content":"Hi"}}]})--F([DONE])------------------|
    events  --StreamStart-BlockStart-Chunk(Hi)-------------BlockComplete-StreamCompleted-|
    ```

    >>> import streamflow as sf
    >>> wire = b'data: {"id":"1","choices":[{"delta":{"content":"Hi"}}]}\\n\\ndata: [DONE]\\n\\n'
    >>> [type(event).__name__ for event in sf.run([wire], sf.operators.sse_decode(), normalize_provider("openai"))]
    ['StreamStart', 'BlockStart', 'Chunk', 'BlockComplete', 'StreamCompleted']
    """
    row = provider_row(name)

    def make_stage() -> Normalizer:
        return Normalizer(row, choice=choice, on_bad_frame=on_bad_frame, raw=raw)

    make_stage()  # wrong options fail here, not at the first item
    return lift(make_stage, "normalize_provider")
