"""SeaTunnel's REST API v2 as a view over this server: its paths, its documents, and no logic of its own."""
