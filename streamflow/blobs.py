"""Large data kept outside of messages and records: the protocol of a store, one in memory, and records without media.

Data travels as bytes here; base64 exists only on the wire and in the records that `sanitize_for_storage` makes small.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

DEFAULT_THRESHOLD = 10 * 1024
REFERENCE = "__blobRef"
_ESCAPED = "__blobRefEscaped"
_REFERENCE_KEYS = frozenset((REFERENCE, "originalSize", "mediaType"))
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
DEFAULT_MEDIA_TYPE = "application/octet-stream"
_TYPE_FIELDS = ("media_type", "mediaType", "mimeType", "mime_type")


class BlobNotFound(LookupError):
    """The store has no blob of that id."""


@runtime_checkable
class BlobStore(Protocol):
    """Keeps bytes under an id. Both methods wait, because stores may be files, databases or services."""

    async def load(self, blob_id: str) -> bytes:
        """The bytes of an id; `BlobNotFound` when there are none."""
        ...

    async def store(self, data: bytes, media_type: str) -> str:
        """Keep bytes and say under which id."""
        ...


def blob_id_of(data: bytes) -> str:
    """The id by content: the same bytes have the same id everywhere.

    >>> blob_id_of(b"hi")[:8]
    '8f434346'
    """
    return hashlib.sha256(data).hexdigest()


class MemoryBlobStore:
    """Keeps blobs in memory, as long as the object lives.

    >>> MemoryBlobStore().ids()
    []
    """

    def __init__(self) -> None:
        self._blobs: dict[str, tuple[bytes, str]] = {}

    def ids(self) -> list[str]:
        """The blobs that are here, oldest first."""
        return list(self._blobs)

    async def load(self, blob_id: str) -> bytes:
        """The bytes of an id."""
        if blob_id not in self._blobs:
            raise BlobNotFound(f"no blob {blob_id!r} in memory")
        return self._blobs[blob_id][0]

    async def store(self, data: bytes, media_type: str) -> str:
        """Keep bytes under the hash of their content."""
        blob_id = blob_id_of(data)
        self._blobs.setdefault(blob_id, (bytes(data), media_type))
        return blob_id

    def media_type(self, blob_id: str) -> str:
        """What a blob was said to be when it was stored."""
        if blob_id not in self._blobs:
            raise BlobNotFound(f"no blob {blob_id!r} in memory")
        return self._blobs[blob_id][1]


def media_type_of(data: bytes) -> str:
    """What bytes are, by how they begin.

    >>> media_type_of(b"%PDF-1.7"), media_type_of(b"??")
    ('application/pdf', 'application/octet-stream')
    """
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], DEFAULT_MEDIA_TYPE)
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), DEFAULT_MEDIA_TYPE)


async def sanitize_for_storage(
    value: Any,
    store: BlobStore,
    *,
    blob_threshold: int = DEFAULT_THRESHOLD,
    always_externalize_paths: Iterable[str] = (),
) -> Any:
    """A copy of a request or response without its media: long base64 strings become references into the store.

    A reference is ``{"__blobRef": id, "originalSize": bytes of the string, "mediaType": type}``. Paths are dotted, with
    ``*`` for any key or position: ``messages.*.content.*.source.data``. `restore_from_storage` gives back exactly what
    was there.

    >>> import asyncio
    >>> record = {"source": {"media_type": "image/png", "data": "aGkh" * 5000}}
    >>> small = asyncio.run(sanitize_for_storage(record, MemoryBlobStore()))
    >>> small["source"]["data"]["originalSize"], small["source"]["data"]["mediaType"]
    (20000, 'image/png')
    """
    paths = [tuple(path.split(".")) for path in always_externalize_paths]
    return await _sanitized(value, (), None, store, blob_threshold, paths)


async def _sanitized(
    value: Any,
    path: tuple[str, ...],
    media_type: str | None,
    store: BlobStore,
    threshold: int,
    paths: list[tuple[str, ...]],
) -> Any:
    if isinstance(value, str):
        forced = any(_matches(pattern, path) for pattern in paths)
        return await _sanitized_text(value, media_type, store, threshold, forced)
    if isinstance(value, Mapping):
        near = next((value[name] for name in _TYPE_FIELDS if isinstance(value.get(name), str)), None)
        made = {
            key: await _sanitized(item, (*path, str(key)), near, store, threshold, paths) for key, item in value.items()
        }
        # What only looks like a reference is wrapped, so that nothing is ever taken for one.
        return {_ESCAPED: made} if REFERENCE in made or _ESCAPED in made else made
    if isinstance(value, list | tuple):
        return [
            await _sanitized(item, (*path, str(position)), media_type, store, threshold, paths)
            for position, item in enumerate(value)
        ]
    return value


def _matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    return len(pattern) == len(path) and all(want in ("*", have) for want, have in zip(pattern, path, strict=True))


async def _sanitized_text(text: str, media_type: str | None, store: BlobStore, threshold: int, forced: bool) -> Any:
    if len(text) <= threshold and not forced:
        return text
    head = _DATA_URL.match(text)
    data = _decoded(text[head.end() :] if head else text)
    if data is None and not forced:
        return text
    kind = (head[1] if head else media_type) or (media_type_of(data) if data is not None else "text/plain")
    # A data URL, and any other text at a path that was named, is kept letter by letter.
    kept = data if data is not None and head is None else text.encode("utf-8", "surrogatepass")
    size = len(text.encode("utf-8", "surrogatepass"))
    return {REFERENCE: await store.store(kept, kind), "originalSize": size, "mediaType": kind}


def _decoded(text: str) -> bytes | None:
    """The bytes of canonical base64, or None: only what encodes back to the same text may be taken apart."""
    if len(text) % 4 or not _BASE64.match(text):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return data if base64.b64encode(data).decode() == text else None


async def restore_from_storage(value: Any, store: BlobStore) -> Any:
    """What `sanitize_for_storage` was given, with all data in its place.

    >>> import asyncio
    >>> async def both(record):
    ...     store = MemoryBlobStore()
    ...     return await restore_from_storage(await sanitize_for_storage(record, store, blob_threshold=4), store)
    >>> asyncio.run(both({"data": "aGVsbG8="}))
    {'data': 'aGVsbG8='}
    """
    if isinstance(value, Mapping):
        if set(value) == {_ESCAPED}:
            return {key: await restore_from_storage(item, store) for key, item in value[_ESCAPED].items()}
        if value.keys() == _REFERENCE_KEYS:
            data = await store.load(value[REFERENCE])
            # Base64 is always longer than what it encodes: equal sizes mean that the text itself was kept.
            is_text = len(data) == value["originalSize"]
            return data.decode("utf-8", "surrogatepass") if is_text else base64.b64encode(data).decode()
        return {key: await restore_from_storage(item, store) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [await restore_from_storage(item, store) for item in value]
    return value
