"""The source side that all databases share: which tables, and how each is divided."""
