"""The Kafka source: a split per partition, a reader per split."""
