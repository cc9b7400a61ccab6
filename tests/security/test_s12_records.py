"""S12: what is read back is JSON of a known version, and nothing in it can run; what is corrupt is one typed error."""

import ast
import random
from pathlib import Path

import pytest

import streamflow as sf
from streamflow.encoding import from_json
from streamflow.flow.redis_reader import decoded
from tests.providers.test_recordings import RECORDINGS

PACKAGE = Path(sf.__file__).parent
RUNS = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
CALLS = {"eval", "exec", "compile", "__import__"}
GOOD = b"\n".join(
    (
        b'{"streamflow": 1, "provider": "openai", "headers": {"content-type": "text/event-stream"}}',
        b'{"t": 0.1, "text": "data: {}\\n\\n"}',
        b'{"t": 0.2, "base64": "AAEC"}',
        b'{"t": 0.3, "string": "x"}',
        b'{"t": 0.4, "event": {"type": "Notice", "code": "gap"}}',
        b'{"t": 0.5, "error": {"type": "StreamTruncated", "message": "cut"}}',
        b'{"t": 0.6, "end": "completed"}',
        b"",
    )
)
DEEP = b"[" * 100_000
CORRUPT = [
    b'{"t": 0.1}',
    b'{"t": 0.1, "text": 7}',
    b'{"t": 0.1, "text": "\\ud800"}',
    b'{"t": 0.1, "string": 7}',
    b'{"t": 0.1, "base64": []}',
    b'{"t": 0.1, "base64": "\xc3\xa9"}',
    b'{"t": "soon", "text": ""}',
    b'{"t": true, "text": ""}',
    b'{"t": NaN, "text": ""}',
    b'{"t": Infinity, "text": ""}',
    b'{"t": -1, "text": ""}',
    b'{"t": ' + b"9" * 500 + b', "text": ""}',
    b'{"t": 0.1, "event": null}',
    b'{"t": 0.1, "event": {"type": "Nobody"}}',
    b'{"t": 0.1, "event": {"type": "Chunk", "index": "nine"}}',
    b'{"t": 0.1, "event": {"type": "__reduce__"}}',
    b'{"t": 0.1, "event": {"type": "StreamFailed", "error": 7}}',
    b'{"t": 0.1, "event": {"type": "StreamCompleted", "response": {"error": {"type": 7}}}}',
    b'{"t": 0.1, "event": {"type": "Notice", "code": "x", "raw": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    b'{"t": 0.1, "error": "bad"}',
    b'{"t": 0.1, "error": {"type": 7}}',
    b'{"t": 0.1, "end": 7}',
    b'{"t": 0.1, "end": "whenever"}',
    DEEP,
    b"\xff\xfe",
    b"\x80\x04\x95\x0c",
]
HEADS = [
    b'{"streamflow": 2}',
    b'{"streamflow": "1"}',
    b'{"streamflow": null}',
    b'{"streamflow": [1]}',
    b'{"streamflow": true}',
    b'{"streamflow": 1, "headers": [1]}',
    b'{"streamflow": 1, "headers": {"a": 1}}',
    b'{"streamflow": 1, "provider": 7}',
]
CASSETTES = [
    b"interactions: [1, 2]",
    b"interactions: [{response: 7}]",
    b"interactions: [{response: {body: {base64_string: '!'}}}]",
    b"interactions: [{response: {headers: [1], body: {string: x}}}]",
    b"interactions: !!python/object/apply:os.system ['true']",
    b"interactions: [{response: {body: !!python/object/new:os.system [x]}}]",
    b"interactions: " + b"[" * 3000,
    b'{"interactions": [7]}',
]


def trees():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE), ast.parse(path.read_text())


def test_s12_nothing_that_runs_what_it_reads_is_imported_or_called():
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [(node.module or "").partition(".")[0]]
            found += [(path, name) for name in names if name in RUNS]
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                    found.append((path, node.func.id))
                # Only the safe way to read YAML.
                if ast.unparse(node.func).startswith("yaml.") and ast.unparse(node.func) != "yaml.safe_load":
                    found.append((path, ast.unparse(node.func)))
    assert found == []


def loaded(data: bytes, path: Path) -> sf.Recording | sf.StreamflowError:
    path.write_bytes(data)
    try:
        return sf.load_recording(path)
    except sf.StreamflowError as error:
        return error


def test_s12_the_good_file_is_good(tmp_path):
    recording = loaded(GOOD, tmp_path / "r.jsonl")
    assert len(recording.pieces) == 4


@pytest.mark.parametrize("line", CORRUPT, ids=lambda line: line[:60].decode(errors="replace"))
def test_s12_a_corrupt_line_of_a_recording_is_one_typed_error(line, tmp_path):
    lines = GOOD.split(b"\n")
    for place in (1, 3, len(lines) - 2):
        data = b"\n".join([*lines[:place], line, *lines[place:]])
        found = loaded(data, tmp_path / "r.jsonl")
        assert isinstance(found, sf.ProtocolError), found
        assert str(tmp_path / "r.jsonl") in str(found)
        assert found.position == len(b"\n".join(lines[:place])) + 1


def test_s12_a_name_in_a_recording_makes_no_other_exception(tmp_path):
    line = b'{"t": 0.7, "error": {"type": "SystemExit", "message": "x"}}\n'
    assert type(loaded(GOOD + line, tmp_path / "r.jsonl").error) is sf.StreamflowError


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.decode())
def test_s12_another_version_or_a_corrupt_head_is_refused(head, tmp_path):
    found = loaded(b"\n".join([head, *GOOD.split(b"\n")[1:]]), tmp_path / "r.jsonl")
    assert isinstance(found, sf.StreamflowError), found


@pytest.mark.parametrize("cassette", CASSETTES, ids=lambda cassette: cassette[:60].decode())
def test_s12_a_corrupt_cassette_runs_nothing(cassette, tmp_path):
    found = loaded(cassette, tmp_path / "c.yaml")
    # What is no cassette is taken as a capture: bytes, which are decoded like those of a provider.
    if isinstance(found, sf.Recording):
        assert found.data == cassette
    else:
        assert isinstance(found, sf.StreamflowError)


def test_s12_any_damage_to_a_recording_is_a_recording_or_a_typed_error(tmp_path):
    rng = random.Random(12)
    path = tmp_path / "r.jsonl"
    for _ in range(1500):
        data = bytearray(GOOD)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(data))
            match rng.randrange(3):
                case 0:
                    data[place] ^= 1 << rng.randrange(8)
                case 1:
                    del data[place : place + rng.randint(1, 30)]
                case _:
                    data[place:place] = rng.choice([b'"', b"{", b"}", b"\n", b",", b"null", b"\\", b"9" * 30, b"[["])
        found = loaded(bytes(data), path)
        assert isinstance(found, sf.Recording | sf.StreamflowError)
        if isinstance(found, sf.Recording):
            list(found.pieces)


@pytest.mark.parametrize("line", CORRUPT[12:19], ids=lambda line: line[:60].decode(errors="replace"))
def test_s12_a_corrupt_record_of_a_journal_is_one_typed_error(line):
    event = line.partition(b'"event": ')[2][:-1]
    with pytest.raises(sf.ProtocolError) as caught:
        decoded((b"1-0", {b"t": b"0.1", b"e": event}), "s")
    assert caught.value.kind == "bad_record"


def test_s12_every_event_of_every_recording_comes_back_equal():
    for recording in RECORDINGS[:6]:
        for event in sf.decode(recording.provider, recording.wire):
            assert from_json(sf.to_json(event)) == event
