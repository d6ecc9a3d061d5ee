"""The target side that all databases share: decisions that need no connection."""
