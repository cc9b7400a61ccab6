"""Tools for testing: a fake provider, ways to cut bytes, virtual time, the grammar of streams, the laws."""

from streamflow.testing import cuts
from streamflow.testing.asks import Ask
from streamflow.testing.connections import Connection, Received
from streamflow.testing.cuts import assert_cut_invariant
from streamflow.testing.grammar import assert_grammar
from streamflow.testing.laws import LawsBroken, OperatorReport, check_operator
from streamflow.testing.script import (
    Answer,
    Bytes,
    Cite,
    Cut,
    Drop,
    Endless,
    ErrorEvent,
    HttpError,
    Page,
    Pause,
    Picture,
    Ping,
    RawHttp,
    Refusal,
    Reset,
    Stall,
    Text,
    Thinking,
    Tokens,
    ToolUse,
    gzip_bomb,
    redirect,
)
from streamflow.testing.server import FakeProvider
from streamflow.testing.simulator import Simulator
from streamflow.testing.virtual_time import VirtualLoop, run_virtually
from streamflow.testing.wires import asked, encode, encode_error, encode_whole

__all__ = [
    "Answer",
    "Ask",
    "Bytes",
    "Cite",
    "Connection",
    "Cut",
    "Drop",
    "Endless",
    "ErrorEvent",
    "FakeProvider",
    "HttpError",
    "LawsBroken",
    "OperatorReport",
    "Page",
    "Pause",
    "Picture",
    "Ping",
    "RawHttp",
    "Received",
    "Refusal",
    "Reset",
    "Simulator",
    "Stall",
    "Text",
    "Thinking",
    "Tokens",
    "ToolUse",
    "VirtualLoop",
    "asked",
    "assert_cut_invariant",
    "assert_grammar",
    "check_operator",
    "cuts",
    "encode",
    "encode_error",
    "encode_whole",
    "gzip_bomb",
    "redirect",
    "run_virtually",
]
