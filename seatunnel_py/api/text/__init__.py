"""Text: regular expressions with bounded matching time, and values as text for display."""
