"""Runs a step whose rejected rows come back to it: each gets another attempt, later, together with other rows.

Rules. (1) A row carries the number of its past attempts as metadata (``ATTEMPT``). If it is rejected after the last one
it is a bad row. (2) The step is called once per unit and row: no trial, no second run, for it may be a call that costs.
Only if a step fails without naming the rows, these are tried in halves. (3) The unit has no sink, so the work of an
attempt counts only if it ends well; another attempt may reject other rows. So nothing is decided beforehand, and an
attempt has its own file of bad rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api.batch import Batch, Rejected
from seatunnel_py.errors import BadRowsError
from seatunnel_py.nouns import counted
from seatunnel_py.work.bad_rows import quarantine_file
from seatunnel_py.work.bad_rows.bisect import Fault
from seatunnel_py.work.bad_rows.isolate import VALUE_ERRORS
from seatunnel_py.work.bad_rows.quarantine_file import BadRowsOfBatch
from seatunnel_py.work.bad_rows.spool import taken
from seatunnel_py.work.chain import Chain, ChainRetry, ChainTransform
from seatunnel_py.work.rows.flow import Flow
from seatunnel_py.work.unit import Unit

ATTEMPT = "Attempt"
"""Name of the metadata: how often the row was rejected before."""


class RetryLoop(Flow):
    """Runs one unit of such a step. ``_back``: numbers of the emitted batches that return to the step."""

    def __init__(self, unit: Unit, chain: Chain, retry: ChainRetry) -> None:
        super().__init__(unit, chain)
        self._retry = retry
        self._emitted = 0
        self._back: set[int] = set()
        self._bad: list[BadRowsOfBatch] = []

    def _through(self, batch: Batch, index: int) -> None:
        if index:
            super()._through(batch, index)
            return
        (bound,) = self._transforms
        if ATTEMPT not in batch.metadata:
            first = pa.repeat(pa.scalar(0, pa.int32()), batch.rows)
            batch = replace(batch, metadata={**batch.metadata, ATTEMPT: first})
        for made in self._settled(bound, batch, 0):
            self._through(made, 1)

    def _settled(self, bound: ChainTransform, batch: Batch, before: int) -> Iterator[Batch]:
        """Return the step's output for these rows, without the rejected ones; ``before`` of the batch came earlier."""
        self.step = bound.step
        try:
            items = list(bound.transform.apply(batch))
        except VALUE_ERRORS as error:
            reasons, rows = [str(error.message if isinstance(error, BadRowsError) else error)], list(range(batch.rows))
            made: list[Batch] = []
        else:
            rejected = [one for one in items if isinstance(one, Rejected)]
            made = [one for one in items if isinstance(one, Batch)]
            reasons = [reason for one in rejected for reason in one.reasons]
            named = all(len(one.rows) == one.data.num_rows for one in rejected)
            rows = [row for one in rejected for row in one.rows] if named else list(range(batch.rows))
        if len(rows) > len(reasons):
            middle = batch.rows // 2
            yield from self._settled(bound, taken(batch, range(middle)), before)
            yield from self._settled(bound, taken(batch, range(middle, batch.rows)), before + middle)
            return
        tally = self.balance.at(bound.step, bound.table)
        tally.rows_in += batch.rows - len(rows)
        tally.rows_out += sum(one.rows for one in made)
        yield from made
        if rows:
            self._reject(bound, batch, dict(sorted(zip(rows, reasons, strict=True))), before)

    def _reject(self, bound: ChainTransform, batch: Batch, why: dict[int, str], before: int) -> None:
        attempts = batch.metadata[ATTEMPT].to_pylist()
        again = [row for row in why if attempts[row] < self._retry.times]
        if again:
            rows = taken(batch, again)
            more = pc.add(rows.metadata[ATTEMPT], pa.scalar(1, pa.int32()))
            self._back.add(self._emitted)
            self._emit(replace(rows, metadata={**rows.metadata, ATTEMPT: more}))
        spent = [row for row in why if attempts[row] >= self._retry.times]
        if spent:
            self._give_up(bound, taken(batch, spent), [why[row] for row in spent], [before + row for row in spent])

    def _give_up(self, bound: ChainTransform, batch: Batch, reasons: Sequence[str], numbers: Sequence[int]) -> None:
        """Quarantine rows whose attempts are used up. A replay counts from zero."""
        texts = [f"{reason} (rejected {counted(self._retry.times + 1, 'time')})" for reason in reasons]
        if self.chain.errors is None:
            self.step = bound.step
            raise BadRowsError(f"{bound.step} refused {counted(batch.rows, 'row')} of {batch.table}: {texts[0]}")
        metadata = {name: values for name, values in batch.metadata.items() if name != ATTEMPT}
        faults = [Fault(bound.step, text) for text in texts]
        self.balance.rejected(bound.step, bound.table, batch.rows)
        self._bad.append(BadRowsOfBatch(replace(batch, metadata=metadata), numbers, faults))

    def _emit(self, batch: Batch) -> None:
        super()._emit(batch)
        self._emitted += 1

    def stage(self) -> None:
        super().stage()
        self.slices = tuple(
            replace(one, channel=self._retry.channel) if one.index in self._back else one for one in self.slices
        )
        if self._bad and self.chain.errors is not None:
            unit, chain, location = self.unit, self.chain, self.chain.errors.location
            name = quarantine_file.name_of_attempt(unit, chain)
            self.pieces.append(quarantine_file.write(location, unit, chain, self._bad, None, name=name))
