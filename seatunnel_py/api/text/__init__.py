"""Text: patterns that match in linear time, and values as people read them."""
