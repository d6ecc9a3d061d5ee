"""The participant of one subtask: channels, barriers, snapshots."""
