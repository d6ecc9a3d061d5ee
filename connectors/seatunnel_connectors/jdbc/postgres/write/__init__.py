"""Plans a target table of PostgreSQL and brings rows into it: one module per recipe."""
