"""Checks a value against the TypedDicts of an SDK: required fields are there, unknown fields are not."""

import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import TypeAliasType, get_type_hints, is_typeddict

PRIMITIVES: dict[Any, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
    type(None): (type(None),),
    None: (type(None),),
}


def problems(model: Any, value: Any, path: str = "body") -> list[str]:
    """What is wrong with a value; nothing when it fits."""
    origin = get_origin(model)
    if model is Any or model is object:
        return []
    if isinstance(model, TypeAliasType):
        return problems(model.__value__, value, path)
    if origin in (Required, NotRequired, Annotated):
        return problems(get_args(model)[0], value, path)
    if origin is Union or origin is types.UnionType:
        return _union(get_args(model), value, path)
    if origin is Literal:
        return [] if value in get_args(model) else [f"{path}: {value!r} is none of {get_args(model)}"]
    if is_typeddict(model):
        return _typed_dict(model, value, path)
    if origin is not None and issubclass(origin, Mapping):
        return [] if isinstance(value, dict) else [f"{path}: no object"]
    if origin is not None and issubclass(origin, Iterable):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        inner = get_args(model)[0]
        return [problem for place, item in enumerate(value) for problem in problems(inner, item, f"{path}.{place}")]
    if model in PRIMITIVES:
        fits = isinstance(value, PRIMITIVES[model]) and not (model in (int, float) and isinstance(value, bool))
        return [] if fits else [f"{path}: {value!r} is no {model}"]
    return [f"{path}: {model} is not JSON"]


def _union(options: tuple[Any, ...], value: Any, path: str) -> list[str]:
    found = [problems(option, value, path) for option in options]
    return [] if [] in found else min(found, key=len)


def _typed_dict(model: Any, value: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    hints = get_type_hints(model, include_extras=True)
    # The SDKs postpone their annotations, so that ``__required_keys__`` is empty there.
    needed = [name for name, hint in hints.items() if get_origin(hint) is Required or name in model.__required_keys__]
    missing = [f"{path}: {name} is missing" for name in needed if name not in value]
    unknown = [f"{path}: {name} is unknown" for name in value if name not in hints]
    inner = [
        problem
        for name, item in value.items()
        if name in hints
        for problem in problems(hints[name], item, f"{path}.{name}")
    ]
    return missing + unknown + inner
