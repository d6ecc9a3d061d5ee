"""SeaTunnel's documents, shaped from our records. Pure."""
