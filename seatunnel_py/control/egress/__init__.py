"""The block ``egress`` of the server's settings file."""
