"""Reports the data that a run reads and writes, and the lineage of its columns, as events of OpenLineage."""
