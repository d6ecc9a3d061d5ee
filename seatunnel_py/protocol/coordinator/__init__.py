"""The coordinator of one pipeline: requests, pending checkpoints, isolation, start and end."""
