"""Plans a job file: steps, table flows, pipelines, vertices, guarantees. Opens no Spark."""
