"""Sinks that write by statements, for databases whose drivers have nothing faster. Their ``TargetDialect`` differs."""
