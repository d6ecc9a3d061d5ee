"""The routes of the server, one module for each subject. A route reads, and shapes; it decides nothing."""
