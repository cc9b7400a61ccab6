"""The grammar of a stream as an assertion; it is public, see `streamflow.testing.grammar`."""

from streamflow.testing.grammar import assert_grammar

__all__ = ["assert_grammar"]
