"""Reads and writes Kafka topics, on librdkafka.

::

    *_factory, */options, client/settings  no client library; loaded by ``check``
    client/   cluster, topics, offsets, consumers
    source/   splits and readers
    decode/   messages to rows, by format
    encode/   rows to messages, by format
    schemas/  Avro and Protobuf schemas
    sink/     sends records, or stages and commits them
"""
