"""Converts messages to rows and rows to messages; a message holds one row, or a few."""
