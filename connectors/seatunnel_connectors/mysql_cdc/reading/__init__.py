"""Turns the events of a log into changes of tables, with positions to go on from."""
