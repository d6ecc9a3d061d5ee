"""Files as sources and sinks. Formats know nothing of storage, storage knows nothing of formats."""
