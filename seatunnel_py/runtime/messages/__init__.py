"""The vocabulary between the machine of a pipeline and its performer: events, effects, the port of the engine."""
