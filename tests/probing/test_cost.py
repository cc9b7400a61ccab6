"""A probe costs less than a quarter of its chain, and nothing where there is none."""

import subprocess
import sys

from bench.probing import overhead
from streamflow.stage import Chain


def test_a_probe_adds_less_than_a_quarter():
    # The best of a few tries: other work on the machine only ever makes it look dearer.
    assert any(overhead(events=1500, rounds=3) < 1.25 for _ in range(8))


def test_without_a_probe_there_is_none_of_its_code():
    code = (
        "import sys, streamflow as sf\n"
        "from streamflow.operators import sse_decode\n"
        "assert sf.run([b'data: a\\n\\n'], sse_decode())\n"
        "sys.exit('streamflow.probing' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
    assert not any("probe" in name or "log" in name for name in Chain.feed.__code__.co_names)
