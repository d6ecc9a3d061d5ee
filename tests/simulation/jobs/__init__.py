"""Jobs of the simulation: pipelines of random shapes, their sources and targets, and what honest workers make of rows."""
