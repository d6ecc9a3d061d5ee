"""The shipping job in a simulated world: real machines, real performer, real store and journal; simulated time, threads,
workers, targets and storage."""
