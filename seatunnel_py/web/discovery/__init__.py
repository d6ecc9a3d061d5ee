"""From a connection to a job file: its tables, and the text for the chosen ones."""
