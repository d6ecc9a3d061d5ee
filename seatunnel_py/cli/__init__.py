"""The command line: arguments in, text or JSON out, exit codes as documented. Decides nothing about data."""
