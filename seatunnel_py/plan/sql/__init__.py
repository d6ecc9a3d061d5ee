"""The SQL dialect of job files: parsed, checked, analysed."""
