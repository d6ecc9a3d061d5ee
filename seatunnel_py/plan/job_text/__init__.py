"""Makes the text of a job file out of addresses, options and names of tables."""
