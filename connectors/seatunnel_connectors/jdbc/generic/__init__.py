"""Reads and writes any other database through a SQLAlchemy URL, by reflection and plain statements. Slow, but exact."""
