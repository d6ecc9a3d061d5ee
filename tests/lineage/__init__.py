"""Random plans, and whether their column lineage is right."""
