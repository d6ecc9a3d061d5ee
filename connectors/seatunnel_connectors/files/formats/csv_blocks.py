"""Parses blocks of csv and text with Arrow, if their records have the expected length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seatunnel_py.formats.value_text.numbers import may_underflow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ArrowCsv:
    """The parser's settings. ``drop_surplus``: ignore fields beyond the columns if every row has them."""

    delimiter: str
    quote: str
    escape: str
    ignore_empty_lines: bool
    drop_surplus: bool

    def parse(
        self, text: bytes, names: list[str], wanted: tuple[str, ...], types: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the wanted columns, typed if ``types`` names them. None: rows differ in length, or a number may have
        become infinity or 0. Raises ArrowInvalid."""
        odd: list[int] = []
        table = self._parse_once(text, names, wanted, types, odd)
        if odd and max(odd) > len(names) and not self.drop_surplus:
            return None
        if odd and not table.num_rows and min(odd) == max(odd):
            # Every row is longer (or shorter) than the declared columns: retry with that width.
            width = odd[0]
            padded = [*names, *(f"\0{index}" for index in range(len(names), width))][:width]
            odd.clear()
            table = self._parse_once(text, padded, tuple(n for n in wanted if n in padded), types, odd)
        if odd:
            return None
        found = {name: table.column(name) for name in table.column_names}
        arrays = {name: _whole(found.get(name), types.get(name), table.num_rows) for name in wanted}
        return None if _is_doubtful(text, arrays) else arrays

    def _parse_once(
        self, text: bytes, names: list[str], wanted: tuple[str, ...], types: dict[str, Any], odd: list[int]
    ) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        def note(row: Any) -> str:
            odd.append(row.actual_columns)
            return "skip"

        strings = {name: types.get(name, pa.string()) for name in wanted}
        return arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote or False,
                double_quote=bool(self.quote),
                escape_char=self.escape or False,
                newlines_in_values=bool(self.quote),
                ignore_empty_lines=self.ignore_empty_lines,
                invalid_row_handler=note,
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=strings,
                include_columns=list(wanted),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )


def _is_doubtful(text: bytes, arrays: dict[str, Any]) -> bool:
    """True if a number may have become infinity or 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    floats = [array for array in arrays.values() if pa.types.is_floating(array.type)]
    if any(pc.any(pc.is_inf(array)).as_py() for array in floats):
        return True
    return any(pc.any(pc.equal(array, 0.0)).as_py() for array in floats) and may_underflow(text)


def _whole(column: Any, dtype: Any, rows: int) -> Any:
    """One array of a table's column; nulls for a column that the file lacks."""
    import pyarrow as pa

    if column is None:
        return pa.nulls(rows, dtype or pa.string())
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
