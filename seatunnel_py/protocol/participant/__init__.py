"""A subtask's side of the protocol: channels, barriers, snapshots."""
