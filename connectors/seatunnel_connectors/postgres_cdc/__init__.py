"""Change data capture from PostgreSQL: the source Postgres-CDC.

``pgoutput`` is pure: bytes in, Arrow out. ``replication`` talks to the server. The modules of this package make the
source of them: ``claim`` (publication and slot), ``copy`` and ``slot_snapshots`` (the rows before the log),
``log_enumerator`` and ``reader`` (the log).
"""
