"""Reads the format xml: one element per row, values in attributes or in elements below it.

Nothing outside the document is ever fetched, and entities that a document declares itself are not expanded: a document
that uses one is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, Undecoded, number
from seatunnel_connectors.files.formats.cell_rows import CellRows, read_cells
from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.record_blocks import transcoded
from seatunnel_py.api import FatalError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8 * 1024


class XmlReader(FormatReader):
    """Reads rows as they are parsed; a position is a number of rows."""

    needs_schema = True

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        row = number(start, "row")
        held: list[tuple[dict[str, str], int]] = []
        for index, found in enumerate(self._rows(document)):
            if index >= row:
                held.append(found)
            if len(held) >= BATCH_ROWS:
                yield from self._batch(document, layout, held, row)
                row, held = row + len(held), []
        if held:
            yield from self._batch(document, layout, held, row)

    def _rows(self, document: Document) -> Iterator[tuple[dict[str, str], int]]:
        """Yield values by name, and the line of the row's element."""
        from lxml import etree

        tag, in_attributes = self.options.xml_row_tag, bool(self.options.xml_use_attr_format)
        stream, encoding = document.stream(), None  # None: as declared in the document
        if self.options.encoding.upper() not in ("UTF-8", "UTF8"):
            stream, encoding = transcoded(stream, self.options.encoding, document), "UTF-8"
        try:
            events = etree.iterparse(
                _Source(stream),
                events=("end",),
                tag=tag,
                encoding=encoding,
                resolve_entities=False,
                load_dtd=False,
                no_network=True,
                huge_tree=False,
            )
            for _, element in events:
                yield (
                    (dict(element.attrib) if in_attributes else self._children(document, element)),
                    (element.sourceline or 0),
                )
                element.clear()
                while element.getprevious() is not None and element.getparent() is not None:
                    del element.getparent()[0]
            if events.root is not None and _declares_entities(events.root):
                raise _entities(document, 1)
        except etree.XMLSyntaxError as error:
            line = error.lineno or 1
            raise FatalError(f"{document.name}, line {line}: not well-formed XML: {error.msg}") from error
        finally:
            stream.close()

    def _children(self, document: Document, element: Any) -> dict[str, str]:
        from lxml import etree

        found: dict[str, str] = {}
        for child in element:
            if child.tag is etree.Entity or any(inner.tag is etree.Entity for inner in child.iter()):
                raise _entities(document, child.sourceline or 0)
            if isinstance(child.tag, str):
                found[etree.QName(child).localname] = "".join(child.itertext())
        return found

    def _batch(
        self, document: Document, layout: Layout, rows: list[tuple[dict[str, str], int]], first: int
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        found = CellRows(
            len(rows),
            lambda name: [values.get(name) for values, _ in rows],
            lambda at: f"line {rows[at][1]}",
            lambda at: rows[at][0],
        )
        return read_cells(self, document, layout, found, {"row": first + len(rows)})


class _Source:
    """A stream for lxml: bytes in pieces, and nothing else of the file."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def read(self, size: int = -1) -> bytes:
        return bytes(self.stream.read(size))


def _declares_entities(root: Any) -> bool:
    dtd = root.getroottree().docinfo.internalDTD
    return dtd is not None and any(True for _ in dtd.iterentities())


def _entities(document: Document, line: int) -> FatalError:
    return FatalError(
        f"{document.name}, line {line}: the document declares entities of its own, which are not expanded",
        "replace the entities by their text",
    )
