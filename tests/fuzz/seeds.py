"""Where fuzzing begins: recorded wires, the nasty texts of the laws, and small things that are written by hand."""

import random

from streamflow.providers.table import providers
from streamflow.testing.laws import nasty_text
from streamflow.text.language_data import languages
from tests.fuzz.targets import FRAMINGS
from tests.laws import nasty_bytes
from tests.recordings.make import RECORDINGS

_MAKERS = {
    "sse": nasty_bytes.sse,
    "ndjson": nasty_bytes.ndjson,
    "json_array": nasty_bytes.json_array,
    "eventstream": nasty_bytes.eventstream,
}
_EACH = 12
_JSON = (
    b'{"a": [1, -2.5e3, true, null, {"b": "\\u00e9\\n\\ud83d\\ude00"}]}',
    b'{"a":1,"a":{"b":[]}}',
    b'"x"',
    b"-0.5E+3",
    b"[]",
)
_SPEECH = (
    b"# Tea\n\n- *no* milk, [green](http://x.y)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    b"```py\nx\n```\n\n$x^2$ `y` &amp; <b>z</b>",
)


def seeds(target: str) -> list[bytes]:
    """Inputs of a target, the same ones each time."""
    rng = random.Random(target)
    if target in _MAKERS:
        return [bytes([number % 4]) + _MAKERS[target](rng) for number in range(_EACH)]
    if target == "recognised":
        return [bytes([rng.randrange(16)]) + _MAKERS[rng.choice(FRAMINGS)](rng) for _ in range(2 * _EACH)]
    if target == "provider":
        places = {name: place for place, name in enumerate(providers())}
        small = [recording for recording in RECORDINGS if len(recording.wire) < 6000]
        return [bytes([places[recording.provider]]) + recording.wire for recording in small]
    texts = [nasty_text.text(rng, 8).encode("utf-8", "surrogatepass") for _ in range(_EACH)]
    if target == "partial_json":
        return [*_JSON, *texts]
    if target == "sentences":
        return [bytes([number % (1 + len(languages()))]) + text for number, text in enumerate(texts)]
    if target == "blocks":
        return [bytes([number % 7]) + text for number, text in enumerate(texts)]
    return [*_SPEECH, *texts]
