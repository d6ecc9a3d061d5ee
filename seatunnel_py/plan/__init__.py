"""From a job file to what will run: steps, table flows, pipelines, vertices, guarantees. Opens no Spark."""
