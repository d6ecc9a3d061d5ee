"""Turns changes into documents as Debezium writes them (``format = COMPATIBLE_DEBEZIUM_JSON`` of a source)."""
