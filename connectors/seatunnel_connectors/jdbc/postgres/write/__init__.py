"""Plans a target table of PostgreSQL and writes rows to it: one module per recipe."""
