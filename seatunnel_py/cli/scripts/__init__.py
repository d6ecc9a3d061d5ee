"""The scripts of SeaTunnel, for schedulers that call these: `seatunnel install-scripts`."""
