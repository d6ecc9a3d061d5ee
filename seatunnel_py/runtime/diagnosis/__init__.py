"""Reports the state of a running job: diagnoses of stalls, live counters, receipts, lost units."""
