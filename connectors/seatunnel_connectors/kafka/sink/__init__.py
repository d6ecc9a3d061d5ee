"""The Kafka sink: confirmed sends, or staged records with a ledger."""
