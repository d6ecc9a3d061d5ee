"""The process that a plugin runs in: connections, files, waiting times and failpoints."""
