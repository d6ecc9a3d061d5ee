"""Transforms that ask a language model."""
