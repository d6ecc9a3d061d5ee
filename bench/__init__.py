"""Benchmarks: each bar of the design has one command; see README.md."""
