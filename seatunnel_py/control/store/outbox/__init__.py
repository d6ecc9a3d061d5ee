"""The outbox: events that are to be sent, their deliveries to targets, and how far runs have been looked at."""
