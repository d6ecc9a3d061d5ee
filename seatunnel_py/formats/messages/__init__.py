"""Messages to rows and rows to messages: a value holds one row, or a few."""
