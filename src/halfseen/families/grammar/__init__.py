"""Probabilistic context-free grammars: trees above sentences."""
