"""Writers of one unit: records go to the topic and are confirmed, or to a staged file that is committed later."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress

from seatunnel_connectors.kafka import failpoints
from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.client.record_sizes import total_size
from seatunnel_connectors.kafka.encode.encoder import Encoder
from seatunnel_connectors.kafka.sink.sender import Sender
from seatunnel_connectors.kafka.sink.staging import FileInMaking, StagingPlace
from seatunnel_py.api import Batch, Piece, WriteContext, Writer, borrow


class SendingWriter(Writer):
    """At least once: ``stage`` returns when the cluster has confirmed every record (I32)."""

    def __init__(self, what: str, cluster: Cluster, encoder: Encoder, *, trial: bool = False) -> None:
        self._encoder = encoder
        self._trial = trial
        self._lent: AbstractContextManager[Sender] = borrow(
            ("kafka-sender", cluster), lambda: Sender(what, cluster), Sender.close
        )
        self._sender = self._lent.__enter__()
        self._sender.what = what
        self._sender.begin()
        self._bytes = 0

    def write(self, batch: Batch) -> None:
        records = self._encoder.encode(batch)
        self._bytes += total_size(records)
        if not self._trial:  # a topic keeps what was sent, so a trial sends nothing
            self._sender.send(records, self._encoder.options.topic)

    def stage(self) -> Piece:
        self._sender.confirm()
        failpoints.CONFIRMED.hit()
        self._lent.__exit__(None, None, None)
        return Piece(self._sender.sent, self._bytes)

    def abort(self) -> None:
        """Sent records cannot be recalled; the producer is not used again."""
        error = ConnectionAbortedError("the unit was aborted")
        with suppress(ConnectionAbortedError):
            self._lent.__exit__(type(error), error, None)


class StagingWriter(Writer):
    """Exactly once: records wait in a file of this attempt for the commit of their checkpoint."""

    def __init__(self, place: StagingPlace, context: WriteContext, encoder: Encoder) -> None:
        self._place, self._context, self._encoder = place, context, encoder
        self._file: FileInMaking | None = None
        self._bytes = 0

    def write(self, batch: Batch) -> None:
        records = self._encoder.encode(batch)
        if self._file is None:
            self._file = self._place.begin(self._context, records.schema)
        self._file.add(records)
        self._bytes += total_size(records)

    def stage(self) -> Piece:
        if self._file is None:
            return Piece(0)
        staged = self._file.finish()
        self._file = None
        failpoints.STAGED.hit()
        return Piece(staged.records, self._bytes, data=staged.to_plain())

    def abort(self) -> None:
        if self._file is not None:
            self._file.drop()
