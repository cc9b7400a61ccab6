"""Streams of language models as Observables."""
