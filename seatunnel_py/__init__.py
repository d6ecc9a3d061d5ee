"""seatunnel-py: data integration on Spark with plugins in Python.

Imports nothing here, so that ``seatunnel_py.api`` on a worker pulls in nothing else.
"""

__version__ = "0.1.0"
