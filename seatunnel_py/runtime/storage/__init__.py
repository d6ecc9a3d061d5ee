"""Durable files of a job: checkpoints, the journal, savepoints, the job's directory."""
