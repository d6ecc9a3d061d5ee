"""Reads and writes Kafka topics, on librdkafka.

::

    *_factory, */options, client/settings  no client library; loaded by ``check``
    client/   the cluster, its topics, offsets and consumers
    source/   splits, and one partition's messages in order
    decode/   messages to rows, one module per format
    encode/   rows to messages, one module per format
    schemas/  schemas of Avro and Protobuf messages
    sink/     sends confirmed records, or stages them and commits in a transaction with a ledger
"""
