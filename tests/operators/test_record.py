"""The tap itself; the format is tested in tests/test_recordings.py."""

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.operators import record


def test_nothing_is_changed_and_each_subscription_writes_anew(tmp_path):
    path = tmp_path / "r.jsonl"
    source = rx.of(b"a", b"b").pipe(record(path, provider="openai"))
    for _ in range(2):
        seen = []
        source.subscribe(seen.append)
        assert seen == [b"a", b"b"]
    assert [piece.item for piece in sf.load_recording(path).pieces] == [b"a", b"b"]


def test_a_path_that_cannot_be_written_is_an_error_of_that_subscription(tmp_path):
    errors = []
    rx.of(b"a").pipe(record(tmp_path / "no" / "folder")).subscribe(pytest.fail, errors.append)
    assert isinstance(errors[0], sf.UsageError)
