"""Memory of long streams: a million events through a pipeline, in a process of its own, while nobody keeps them."""

import subprocess
import sys

from bench.measure import Row, at_most

EVENTS = 1_000_000
WARM_UP = 100_000
# Beside its text an event may leave a place in the lists of the two stages that hold an open block, and no more: a kept
# chunk would be a hundred bytes, a kept frame four hundred.
BYTES_EACH = 24
_ALIGNED = 16  # what the allocator rounds a small object up to


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def _measured() -> tuple[float, float]:
    """How much the process grew from the first events to the last, and the size of the text's own objects; an event."""
    from bench.wires import openai_events
    from streamflow.operators import normalize_provider, sse_decode, tool_accumulate, visible_filter, xml_block_split
    from streamflow.stage import Chain

    operators = (sse_decode(), normalize_provider("openai"), xml_block_split(), tool_accumulate(), visible_filter())
    chain = Chain([operator.make_stage() for operator in operators])
    reads = openai_events(1000)[:-2]
    size = 0
    before = 0
    for number in range(EVENTS):
        if number == WARM_UP:
            before, size = _resident(), 0
        for chunk in chain.feed(reads[number % 1000]):
            size += -(-sys.getsizeof(chunk.text) // _ALIGNED) * _ALIGNED
    count = EVENTS - WARM_UP
    return (_resident() - before) / count, size / count


def rows() -> list[Row]:
    """Growth an event, beside the text itself."""
    done = subprocess.run([sys.executable, "-m", "bench.memory"], capture_output=True, text=True, check=True)
    grown, text = map(float, done.stdout.split())
    measure = "1M events through the default pipeline: bytes that stay, an event"
    return [
        Row(measure, "streamflow", grown),
        Row(measure, "the strings of the text alone", text),
        at_most(f"{measure}, beside the text", "streamflow", grown - text, BYTES_EACH),
    ]


if __name__ == "__main__":
    print(*_measured())
