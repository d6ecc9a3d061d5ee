"""JSON documents to columns and columns to JSON documents, whole columns at a time."""
