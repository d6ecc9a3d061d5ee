"""Messages to rows: one module per format."""
