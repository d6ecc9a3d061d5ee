"""One module per file format: how its rows become Arrow batches, and Arrow batches its rows."""
