"""Implements the command line: arguments in, text or JSON out, documented exit codes. Decides nothing about data."""
