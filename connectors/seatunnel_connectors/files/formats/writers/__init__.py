"""One module per file format: its writer."""
