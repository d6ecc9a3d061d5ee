"""Decodes the messages of pgoutput, PostgreSQL's own output plugin, a column at a time. Does no I/O."""
