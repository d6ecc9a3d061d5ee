"""One pipeline at run time: its subtasks, units, splits, retries and isolated sinks."""
