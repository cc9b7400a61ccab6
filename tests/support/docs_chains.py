"""The chains of operators that the documentation builds, found by running its programs."""

import contextlib
import gc
import io
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import reactivex

from streamflow import pipeline
from streamflow.flow import Flow
from tests.docs.test_code_blocks import BLOCK, PAGES


@cache
def documented_chains() -> dict[str, tuple[Any, ...]]:
    """Each chain once, by the names of its operators."""
    found: dict[str, tuple[Any, ...]] = {}
    with _watching(found), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for page in PAGES:
            for match in BLOCK.finditer(page.read_text()):
                with contextlib.suppress(Exception):  # a program that fails is told of by the tests of the pages
                    exec(compile(match[1], str(page), "exec"), {"__name__": "docs"})
        gc.collect()  # what such a program left open complains here, and not in somebody's test
    return found


@contextlib.contextmanager
def _watching(found: dict[str, tuple[Any, ...]]) -> Iterator[None]:
    def note(operators: Any) -> tuple[Any, ...]:
        chain = tuple(operators)
        if chain:
            found.setdefault(" | ".join(name_of(operator) for operator in chain), chain)
        return chain

    pipe, drive, make, branch = reactivex.Observable.pipe, pipeline._drive, Flow.__init__, Flow.branch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "unraisablehook", lambda _: None)
        patch.setattr(reactivex.Observable, "pipe", lambda self, *chain: pipe(self, *note(chain)))
        patch.setattr(pipeline, "_drive", lambda items, chain: drive(items, note(chain)))
        patch.setattr(Flow, "__init__", lambda self, source, *chain, **more: make(self, source, *note(chain), **more))
        patch.setattr(Flow, "branch", lambda self, name, *chain, **more: branch(self, name, *note(chain), **more))
        yield


def name_of(operator: Any) -> str:
    """Of an operator of ours, or of a function of reactivex."""
    return getattr(operator, "name", "") or operator.__qualname__.partition(".")[0]
