"""Values of a payload written back as JSON text."""

import json
from typing import Any

import orjson


def json_text(value: Any) -> str:
    """Compact JSON; also for strings that hold one half of a surrogate pair, which orjson refuses.

    >>> json_text({"city": "Rome"})
    '{"city":"Rome"}'
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
