"""Kafka source and sink, on librdkafka.

::

factory, options, settings      no client library; what ``check`` loads client, topics                  the cluster, its
topics and offsets source, reader, consumer        splits, and one partition's messages in order records, formats,
decode*       messages to rows sink*, committer, ledger, ...   rows to messages, once: staged, then committed in a
transaction
"""
