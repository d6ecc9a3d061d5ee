"""The checkpoint protocol: events in, commands out. Read ``topology.py``, ``stream_elements.py``, ``participant.py``,
``coordinator.py`` in this order; ``docs/protocol.md`` is the theory of operation.

May not know: clocks, threads, files, randomness, sockets, logs, Spark, and what a batch's rows are. Time arrives
inside events, timers are commands, and everything that crosses the border is a frozen dataclass.
"""
