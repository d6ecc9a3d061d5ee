"""Clients of a Kafka cluster: settings, topics, consumer groups, errors."""
