"""Schemas of Avro and Protobuf messages."""
