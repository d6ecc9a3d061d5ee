"""Whether the home of a server is there: its storage may be shared, and may go away."""
