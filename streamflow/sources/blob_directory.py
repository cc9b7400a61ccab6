"""Blobs as files, named by the hash of their content."""

import asyncio
import os
import re
import tempfile
from pathlib import Path

from streamflow.blobs import BlobNotFound, blob_id_of
from streamflow.errors import ProtocolError

_ID = re.compile(r"[0-9a-f]{64}\Z")


class DirectoryBlobStore:
    """Keeps blobs in a directory; equal content is kept once, and a damaged file is noticed when it is loaded.

    >>> import asyncio, tempfile
    >>> async def example(directory):
    ...     store = DirectoryBlobStore(directory)
    ...     return await store.load(await store.store(b"hi", "text/plain"))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     asyncio.run(example(directory))
    b'hi'
    """

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)

    async def load(self, blob_id: str) -> bytes:
        """The bytes of an id."""
        return await asyncio.to_thread(self._read, blob_id)

    async def store(self, data: bytes, media_type: str) -> str:
        """Keep bytes under the hash of their content; the media type is kept beside them."""
        return await asyncio.to_thread(self._write, bytes(data), media_type)

    async def media_type(self, blob_id: str) -> str:
        """What a blob was said to be when it was first stored."""
        return (await asyncio.to_thread(self._bytes_of, blob_id, ".type")).decode()

    def _path(self, blob_id: str, ending: str = "") -> Path:
        # Ids come from messages and records, so they must never be able to name another file.
        if not _ID.match(blob_id):
            raise BlobNotFound(f"{blob_id!r} is no id of a blob")
        return self._directory / blob_id[:2] / (blob_id + ending)

    def _bytes_of(self, blob_id: str, ending: str = "") -> bytes:
        path = self._path(blob_id, ending)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise BlobNotFound(f"no blob {blob_id!r} in {self._directory}") from None

    def _read(self, blob_id: str) -> bytes:
        data = self._bytes_of(blob_id)
        if blob_id_of(data) != blob_id:
            raise ProtocolError(f"the file of blob {blob_id} does not hold what was stored")
        return data

    def _write(self, data: bytes, media_type: str) -> str:
        blob_id = blob_id_of(data)
        path = self._path(blob_id)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._put(self._path(blob_id, ".type"), media_type.encode())
            self._put(path, data)
        return blob_id

    def _put(self, path: Path, data: bytes) -> None:
        # Written beside and moved into place, so that nobody ever sees half a file.
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
