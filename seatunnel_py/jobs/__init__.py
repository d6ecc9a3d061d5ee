"""Facts about jobs, for the command line and the server alike."""
