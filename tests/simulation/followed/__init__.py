"""A job that copies tables of a simulated database and follows its log: tables join, leave, are reset, wait and go back."""
