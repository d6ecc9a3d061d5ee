"""Translates functions on text, with SeaTunnel's meaning, to Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.spark.dialect.call import INTEGERS, Argument, Call, Translation, cast_to, refused, renamed
from seatunnel_py.spark.dialect.date_patterns import pattern
from seatunnel_py.spark.query.types import text

REGEXP_FLAGS = "icnm"


def _ascii(call: Call) -> str:
    """Null for an empty text, which has no first character; Spark would return 0."""
    call.takes(1)
    return f"nullif(ascii({call[0].sql}), 0)"


def _char(call: Call) -> str:
    """Spark's chr knows the first 256 characters only."""
    call.takes(1)
    number = call[0].integer
    if number is not None and 0 < number < 128:
        return f"chr({number})"
    return f"decode(unhex(lpad(hex(CAST({call[0].sql} AS INT) & 65535), 4, '0')), 'UTF-16BE')"


def _concat(call: Call) -> str:
    """Nulls are skipped; if all are null the result is empty."""
    if not call.args:
        raise call.error("takes at least 1 argument")
    return f"concat_ws('', {', '.join(_joinable(arg) for arg in call.args)})"


def _concat_ws(call: Call) -> str:
    if len(call) < 2:
        raise call.error("takes at least 2 arguments")
    separator = call[0].sql if call[0].text is not None else f"coalesce({call[0].as_text}, '')"
    return f"concat_ws({separator}, {', '.join(_joinable(arg) for arg in call.args[1:])})"


def _joinable(arg: Argument) -> str:
    return arg.sql if arg.type.startswith("array<") else arg.as_text


def _hextoraw(call: Call) -> str:
    """Four digits make a character; Spark would pad missing ones."""
    call.takes(1)
    s = call[0].as_text
    refusal = "raise_error('HEXTORAW wants 4 digits for each character')"
    return f"IF(length({s}) % 4 <> 0, {refusal}, decode(unhex({s}), 'UTF-16BE'))"


def _rawtohex(call: Call) -> str:
    """Four digits per character of text, two per byte."""
    call.takes(1)
    if call[0].type == "binary":
        return f"lower(hex({call[0].sql}))"
    return f"lower(hex(encode({call[0].as_text}, 'UTF-16BE')))"


def _insert(call: Call) -> str:
    call.takes(4)
    s, start, length, other = call[0].as_text, str(call[1]), str(call[2]), call[3].as_text
    return (
        f"CASE WHEN {s} IS NULL THEN {other}"
        f" WHEN {other} IS NULL OR {other} = '' OR {start} < 1 OR {length} <= 0 OR {start} > char_length({s}) + 1"
        f" THEN {s}"
        f" ELSE concat(left({s}, {start} - 1), {other}, substring({s}, {start} + {length})) END"
    )


def _locate(call: Call) -> str:
    call.takes(2, 3)
    return _find(call[0], call[1], call.given(2))


def _instr(call: Call) -> str:
    call.takes(2, 3)
    return _find(call[1], call[0], call.given(2))


def _find(sought: Argument, s: Argument, start: Argument | None) -> str:
    """1-based, 0 where it is absent or where the text is null; a negative start counts from the end, backwards."""
    where, what = s.as_text, sought.as_text
    if start is None:
        return f"coalesce(locate({what}, {where}), 0)"
    forwards = f"locate({what}, {where}, greatest({start.sql}, 1))"
    head = f"left({where}, char_length({where}) + {start} + char_length({what}))"
    found = f"locate(reverse({what}), reverse({head}))"
    backwards = f"IF({found} = 0, 0, char_length({head}) - {found} - char_length({what}) + 2)"
    if start.integer is None:
        return f"coalesce(IF({start} < 0, {backwards}, {forwards}), 0)"
    return f"coalesce({backwards if start.integer < 0 else forwards}, 0)"


def _pad(name: str) -> Translation:
    """The padding is one character, the first of the argument."""

    def translate(call: Call) -> str:
        call.takes(2, 3)
        return f"{name}({call[0].as_text}, {call[1].sql}, {_one_character(call.given(2))})"

    return translate


def _trim(side: str) -> Translation:
    """Only one character is trimmed, the first of the argument."""

    def translate(call: Call) -> str:
        call.takes(1, 2)
        return f"TRIM({side} {_one_character(call.given(1))} FROM {call[0].as_text})"

    return translate


def _one_character(arg: Argument | None) -> str:
    if arg is None or arg.text == "":
        return "' '"
    if arg.text is not None:
        return text(arg.text[0])
    return f"coalesce(nullif(left({arg.as_text}, 1), ''), ' ')"


def _regexp_replace(call: Call) -> str:
    call.takes(3, 4)
    return f"regexp_replace({call[0].as_text}, {_pattern(call, 1, 3)}, {call[2].sql})"


def _regexp_like(call: Call) -> str:
    call.takes(2, 3)
    return f"regexp_like({call[0].as_text}, {_pattern(call, 1, 2)})"


def _regexp_substr(call: Call) -> str:
    """Null without a match; position and occurrence count from 1."""
    call.takes(2, 6)
    position, occurrence, group = call.given(2), call.given(3), call.given(5)
    s = call[0].as_text
    if position is not None and position.integer != 1:
        s = f"substring({s}, {position.sql})"
    wanted = group.sql if group else "0"
    index = f"{occurrence} - 1" if occurrence else "0"
    return f"get(regexp_extract_all({s}, {_pattern(call, 1, 4)}, {wanted}), {index})"


def _pattern(call: Call, index: int, flags_index: int) -> str:
    """The pattern with the flags as its prefix; the last of ``i`` and ``c`` wins."""
    flags = call.given(flags_index)
    if flags is None:
        return call[index].sql
    if flags.text is None:
        raise call.error("wants its flags as a text")
    unknown = [flag for flag in flags.text if flag not in REGEXP_FLAGS]
    if unknown:
        raise call.error(f"does not know the flag {unknown[0]!r}; it knows i, c, n and m")
    case = [flag for flag in flags.text if flag in "ic"]
    inline = ("iu" if case and case[-1] == "i" else "") + ("s" if "n" in flags.text else "")
    inline += "m" if "m" in flags.text else ""
    if not inline:
        return call[index].sql
    pattern = call[index].text
    return text(f"(?{inline}){pattern}") if pattern is not None else f"concat('(?{inline})', {call[index].sql})"


def _replace(call: Call) -> str:
    call.takes(2, 3)
    by = call.given(2)
    after = "''" if by is None else by.sql if by.text is not None else f"coalesce({by.sql}, '')"
    return f"replace({call[0].as_text}, {call[1].sql}, {after})"


def _split(call: Call) -> str:
    """Split as Java does: by a pattern, without the empty texts at the end; an empty text gives null."""
    call.takes(1, 2)
    separator = call[1].sql if len(call) == 2 else "''"
    parts = f"split(nullif({call[0].as_text}, ''), {separator})"
    last = f"array_max(transform({parts}, (part, at) -> IF(part = '', 0, at + 1)))"
    return f"slice({parts}, 1, coalesce({last}, 0))"


def _soundex(call: Call) -> str:
    """Only letters have a sound; without one the code is 0000."""
    call.takes(1)
    letters = f"regexp_replace({call[0].as_text}, '[^A-Za-z]', '')"
    return f"IF({letters} = '', '0000', soundex({letters}))"


def _substring(call: Call) -> str:
    """An empty result is null; a negative start counts from the end."""
    call.takes(2, 3)
    rest = ", ".join(arg.sql for arg in call.args[1:] if not arg.is_null)
    return f"nullif(substring({call[0].as_text}, {rest}), '')"


def _to_char(call: Call) -> str:
    """The format counts for dates and times only."""
    call.takes(1, 2)
    dtype, form = call[0].type, call.given(1)
    temporal = dtype.startswith(("date", "time")) or not dtype
    if form is not None and temporal:
        return f"date_format({call[0].sql}, {pattern(call, 1)})"
    return f"CAST({call[0].sql} AS STRING)"


def _translate(call: Call) -> str:
    """Characters without a counterpart stay; Spark would drop them."""
    call.takes(3)
    find, by = call[1], call[2]
    if by.is_null:
        return call[0].sql
    if find.text is not None and by.text is not None:
        return f"translate({call[0].as_text}, {text(find.text[: len(by.text)])}, {by.sql})"
    return f"translate({call[0].as_text}, left({find.sql}, char_length({by.sql})), {by.sql})"


CHARSETS = frozenset({"US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32"})
"""The names that Spark knows."""


def _to_base64(call: Call) -> str:
    call.takes(1, 2)
    if call[0].type == "binary":
        if len(call) == 2:
            raise call.error("takes no charset with bytes: they are not encoded")
        return f"base64({call[0].sql})"
    return f"base64(encode({call[0].as_text}, {text(call.word(1, 'UTF-8', CHARSETS))}))"


def _from_base64(call: Call) -> str:
    call.takes(1, 2)
    return f"decode(unbase64({call[0].as_text}), {text(call.word(1, 'UTF-8', CHARSETS))})"


def _length(name: str) -> Translation:
    """Lengths are BIGINT; those of numbers are of their text."""

    def translate(call: Call) -> str:
        call.takes(1)
        arg = call[0]
        value = arg.as_text if arg.type in INTEGERS else arg.sql
        return f"CAST({name}({value}) AS BIGINT)"

    return translate


TEXT_FUNCTIONS: Mapping[str, Translation] = {
    "ASCII": _ascii,
    "BIT_LENGTH": cast_to("BIGINT", "bit_length", 1),
    "OCTET_LENGTH": cast_to("BIGINT", "octet_length", 1),
    "CHAR_LENGTH": _length("char_length"),
    "CHARACTER_LENGTH": _length("char_length"),
    "LENGTH": _length("length"),
    "CHR": _char,
    "CHAR": _char,
    "CONCAT": _concat,
    "CONCAT_WS": _concat_ws,
    "HEXTORAW": _hextoraw,
    "RAWTOHEX": _rawtohex,
    "INSERT": _insert,
    "LCASE": renamed("lower", 1),
    "UCASE": renamed("upper", 1),
    "LOCATE": _locate,
    "POSITION": _locate,
    "INSTR": _instr,
    "LPAD": _pad("lpad"),
    "RPAD": _pad("rpad"),
    "LTRIM": _trim("LEADING"),
    "RTRIM": _trim("TRAILING"),
    "TRIM": _trim("BOTH"),
    "REGEXP_REPLACE": _regexp_replace,
    "REGEXP_LIKE": _regexp_like,
    "REGEXP_SUBSTR": _regexp_substr,
    "REPLACE": _replace,
    "SPLIT": _split,
    "SOUNDEX": _soundex,
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "TO_CHAR": _to_char,
    "TRANSLATE": _translate,
    "TO_BASE64": _to_base64,
    "FROM_BASE64": _from_base64,
    "MURMUR64": refused("has no counterpart in Spark; xxhash64(x) is a BIGINT hash too, with other values"),
}
