"""Blobs as files."""

import asyncio
from pathlib import Path

import pytest

import streamflow as sf
from streamflow.blobs import BlobNotFound, blob_id_of
from streamflow.errors import ProtocolError
from streamflow.sources.blob_directory import DirectoryBlobStore


async def test_it_gives_back_what_it_was_given_also_to_another_store(tmp_path: Path) -> None:
    store = DirectoryBlobStore(tmp_path / "new")
    assert isinstance(store, sf.BlobStore)
    blob_id = await store.store(b"\x00data\xff", "image/png")
    assert blob_id == blob_id_of(b"\x00data\xff")
    other = DirectoryBlobStore(tmp_path / "new")
    assert await other.load(blob_id) == b"\x00data\xff"
    assert await other.media_type(blob_id) == "image/png"


async def test_equal_content_is_kept_once(tmp_path: Path) -> None:
    store = DirectoryBlobStore(tmp_path)
    ids = await asyncio.gather(*(store.store(b"same", "text/plain") for _ in range(20)))
    assert len(set(ids)) == 1
    assert sorted(path.suffix for path in tmp_path.rglob("*") if path.is_file()) == ["", ".type"]


@pytest.mark.parametrize("blob_id", ["../../etc/passwd", "", "a" * 63, "A" * 64, "0" * 64, "a" * 64 + "\n", "."])
async def test_an_id_never_names_another_file(tmp_path: Path, blob_id: str) -> None:
    (tmp_path / "passwd").write_text("secret")
    with pytest.raises(BlobNotFound):
        await DirectoryBlobStore(tmp_path / "blobs").load(blob_id)


async def test_a_damaged_file_is_noticed(tmp_path: Path) -> None:
    store = DirectoryBlobStore(tmp_path)
    blob_id = await store.store(b"whole", "text/plain")
    (tmp_path / blob_id[:2] / blob_id).write_bytes(b"who")
    with pytest.raises(ProtocolError, match="does not hold"):
        await store.load(blob_id)


async def test_records_and_requests_work_with_it(tmp_path: Path) -> None:
    store = DirectoryBlobStore(tmp_path)
    record = {"data": "aGVsbG8g" * 2000}
    small = await sf.sanitize_for_storage(record, store)
    assert small["data"]["originalSize"] == 16000
    assert await sf.restore_from_storage(small, DirectoryBlobStore(tmp_path)) == record
