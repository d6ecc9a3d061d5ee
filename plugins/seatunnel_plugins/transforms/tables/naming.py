"""Makes names by the rules of TableRename and FieldRename."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from seatunnel_py.api import JavaPattern, Options, TransformOptions, option


class ConvertCase(StrEnum):
    UPPER = "UPPER"
    LOWER = "LOWER"


class Replacement(Options):
    replace_from: str = option(min_length=1, doc="regular expression to replace; if is_regex is false, the whole name")
    replace_to: str = option(doc="replacement, taken literally")
    is_regex: bool = option(True, doc="read replace_from as a regular expression")


class NamingOptions(TransformOptions):
    convert_case: ConvertCase | None = option(
        None, doc="convert everything that is not replaced to upper or lower case"
    )
    prefix: str = option("", doc="prefix of the name")
    suffix: str = option("", doc="suffix of the name")
    replacements_with_regex: tuple[Replacement, ...] = option(
        (), doc="replacements, searched for in the original name; of several matches the last one counts"
    )


def new_name(name: str, options: NamingOptions) -> str:
    """Replace, convert the case of the rest, then add prefix and suffix."""
    spans: list[tuple[int, int]] = []
    replacement = ""
    for rule in options.replacements_with_regex:
        found = list(_matches(rule, name))
        if found:
            spans, replacement = found, rule.replace_to.strip()
    parts, at = [], 0
    for start, end in spans:
        parts += [_cased(name[at:start], options.convert_case), replacement]
        at = end
    parts.append(_cased(name[at:], options.convert_case))
    return options.prefix.strip() + "".join(parts) + options.suffix.strip()


def _matches(rule: Replacement, name: str) -> Iterable[tuple[int, int]]:
    if not rule.is_regex:
        return [(0, len(name))] if rule.replace_from == name else []
    pattern = JavaPattern(rule.replace_from, "replace_from").require_bounded("replace_from")
    return [match.span() for match in pattern.finditer(name)]


def _cased(text: str, case: ConvertCase | None) -> str:
    match case:
        case ConvertCase.UPPER:
            return text.upper()
        case ConvertCase.LOWER:
            return text.lower()
        case None:
            return text
