"""What surrounds a simulated driver: its storage, its threads and its workers, in virtual time."""
