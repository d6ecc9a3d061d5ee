"""Kills of everything around jobs that follow a log: `python -m e2e.cdc_sweep`.

The tables change all the time. Afterwards source and target are compared value by value, and nothing may be left behind.
"""
