"""Names of savepoints that a pipeline takes by itself: users cannot restore them, so the next driver deletes them."""

STOP = "stop"
"""The savepoint that ends a stream, and the timer that requests it again."""
SCHEMA_CHANGE = "schema change"
"""The savepoint before targets are altered, and the timer that requests it again."""
END_OF_LOG = "end of the log"
"""The savepoint at the end of what a run reads of a log."""
OWN = frozenset({STOP, SCHEMA_CHANGE, END_OF_LOG})
