"""Transforms that ship with seatunnel-py, one file each: options, factory and the transform itself."""
