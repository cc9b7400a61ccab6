"""The engine: it is led by what it reaches, finds what is hidden, makes it small, and can be repeated."""

from pathlib import Path

from tests.fuzz import corpus
from tests.fuzz.coverage import Coverage
from tests.fuzz.engine import Campaign, smallest
from tests.fuzz.planted import planted, reads_in_pieces

HERE = Path(__file__).parent


def campaign(target, folder=HERE, seed=1):
    return Campaign("planted", target, [b"hello"], seed=seed, folder=folder)


def test_it_opens_one_door_after_the_other():
    guided = campaign(planted)
    (finding, *_) = guided.run(executions=30_000, most_findings=1)
    assert "behind three doors" in finding.reason
    assert finding.data.startswith(b"{")
    assert len(finding.data) <= len(b"{<think[DONE]") + 1
    assert "KeyError" in str(finding)
    blind = campaign(planted, folder=HERE / "nowhere")
    assert blind.run(executions=guided.executions) == []


def test_the_same_seed_tries_the_same_inputs():
    tried = [[], []]
    for inputs in tried:
        campaign(inputs.append).run(executions=50)
    assert tried[0] == tried[1]
    assert len(set(tried[0])) > 40


def test_only_what_is_new_is_new():
    coverage = Coverage(HERE / "planted.py")  # not the lines of this test
    with coverage.watching():
        reads_in_pieces(b"")
    first = coverage.seen
    assert first > 0
    with coverage.watching():
        reads_in_pieces(b"")
    assert coverage.seen == first
    with coverage.watching():
        reads_in_pieces(b"a")
    assert coverage.seen == first + 1


def test_a_failing_input_is_made_small():
    assert smallest(b"abc" * 50 + b"!" + b"def" * 50, lambda data: b"!" in data) == b"!"


def test_inputs_are_kept_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "_FOLDER", tmp_path)
    inputs = [b"", b"\0\xff\n\r", "é\u2028".encode()]
    corpus.save("findings", "some", inputs)
    assert corpus.load("findings", "some") == inputs
    assert corpus.load("findings", "others") == []
