"""The server as a service of the machine."""
