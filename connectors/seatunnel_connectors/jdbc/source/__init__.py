"""Reads from databases: the part that all databases share, which finds tables and divides them."""
