"""The server: HTTP over the facts about jobs, and over the store of definitions."""
