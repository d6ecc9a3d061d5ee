"""Every other database, through a SQLAlchemy URL: reflection and plain statements. Slow, but right."""
