"""Series of a run's rows over time: samples of live runs, and rates between them."""
