"""Finds cells of an xlsx whose formulas failed (``#DIV/0!``, ``#N/A``): calamine reads them as empty."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from typing import IO, Any, TypeAlias

from seatunnel_connectors.files.formats.cells import CellError

Errors: TypeAlias = "Mapping[int, Mapping[int, str]]"
"""The error's text by row and column of the sheet, counted from 0 as its rows are read."""

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
_PLACE = re.compile(r"([A-Z]+)([0-9]+)")


def with_errors(cells: list[Any], errors: Mapping[int, str] | None) -> list[Any]:
    """Put the errors of a row in their places."""
    if errors:
        cells = [*cells, *[None] * (max(errors) + 1 - len(cells))]
        for place, text in errors.items():
            cells[place] = CellError(text)
    return cells


def error_cells(file: IO[bytes], sheet: str, start: tuple[int, int] | None) -> Errors:
    """The errors of a sheet; ``start`` is the first cell that is read. Formats other than xlsx yield none."""
    if not zipfile.is_zipfile(file):
        return {}
    with zipfile.ZipFile(file) as archive:
        path = _path_of(archive, sheet)
        if path is None or b't="e"' not in archive.read(path):
            return {}
        with archive.open(path) as content:
            return _errors_in(content, start or (0, 0))


def _path_of(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """Path of the sheet in the archive."""
    from lxml import etree

    try:
        book, links = (archive.read(name) for name in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels"))
    except KeyError:
        return None  # not an xlsx
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    targets = {link.get("Id"): link.get("Target", "") for link in etree.fromstring(links, parser)}
    for element in etree.fromstring(book, parser).iter(f"{_MAIN}sheet", f"{_STRICT}sheet"):
        if element.get("name") == sheet:
            target = targets.get(element.get(_RELATION) or element.get(_STRICT_RELATION), "")
            path = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
            return path if path in archive.namelist() else None
    return None


def _errors_in(content: IO[bytes], start: tuple[int, int]) -> Errors:
    from lxml import etree

    found: dict[int, dict[int, str]] = {}
    options: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False}
    for _, cell in etree.iterparse(content, events=("end",), tag=(f"{_MAIN}c", f"{_STRICT}c"), **options):
        match = _PLACE.fullmatch(cell.get("r", ""))
        if cell.get("t") == "e" and match:
            value = next((child.text for child in cell if child.tag.endswith("}v")), None)
            found.setdefault(int(match[2]) - 1 - start[0], {})[_column(match[1]) - start[1]] = value or "#ERROR"
        cell.clear()
    return found


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1
