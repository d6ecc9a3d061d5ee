"""Tells other systems, by events of OpenLineage, which data a run reads and writes, and how its columns depend."""
