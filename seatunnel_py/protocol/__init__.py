"""The checkpoint protocol: events in, commands out. Read ``topology.py``, ``stream_elements.py``, ``participant.py``,
``coordinator.py`` in this order; ``docs/protocol.md`` explains the theory.

May not know: clocks, threads, files, randomness, sockets, logs, Spark, and the rows of a batch. Events contain the
time, timers are commands, and all events and commands are frozen dataclasses.
"""
