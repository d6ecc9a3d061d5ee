"""Deliberate bugs in the shipping protocol: each drops one numbered rule, and a checker or a test must notice."""
