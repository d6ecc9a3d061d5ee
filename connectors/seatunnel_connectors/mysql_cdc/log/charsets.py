"""Names the codec of each character set of the servers, and the character set of each collation's number."""

from __future__ import annotations

CODECS = {
    "utf8mb4": "utf-8", "utf8mb3": "utf-8", "utf8": "utf-8", "ascii": "ascii", "latin1": "cp1252",
    "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13", "cp1250": "cp1250", "cp1251": "cp1251",
    "cp1256": "cp1256", "cp1257": "cp1257", "cp850": "cp850", "cp852": "cp852", "cp866": "cp866", "cp932": "cp932",
    "sjis": "shift_jis", "ujis": "euc_jp", "eucjpms": "euc_jp", "euckr": "cp949", "gb2312": "gb2312", "gbk": "gbk",
    "gb18030": "gb18030", "big5": "big5", "greek": "iso8859-7", "hebrew": "iso8859-8", "koi8r": "koi8-r",
    "koi8u": "koi8-u", "tis620": "tis_620", "ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le",
    "utf32": "utf-32-be", "macroman": "mac_roman", "macce": "mac_latin2",
}  # fmt: skip
"""Python's codec of a character set. ``latin1`` is what browsers call by that name."""
BINARY = "binary"

_LOW = {
    "big5": (1, 84), "latin2": (2, 9, 21, 27, 77), "latin1": (5, 8, 15, 31, 47, 48, 49, 94), "koi8r": (7, 74),
    "ascii": (11, 65), "ujis": (12, 91), "sjis": (13, 88), "cp1251": (14, 23, 50, 51, 52), "hebrew": (16, 71),
    "tis620": (18, 89), "euckr": (19, 85), "latin7": (20, 41, 42, 79), "koi8u": (22, 75), "gb2312": (24, 86),
    "greek": (25, 70), "cp1250": (26, 34, 44, 66, 99), "gbk": (28, 87), "cp1257": (29, 58, 59), "latin5": (30, 78),
    "utf8mb3": (33, 76, 83), "ucs2": (35, 90), "cp866": (36, 68), "macce": (38, 43), "macroman": (39, 53),
    "cp852": (40, 81), "utf8mb4": (45, 46), "utf16": (54, 55), "utf16le": (56, 62), "cp1256": (57, 67),
    "cp850": (4, 80), "utf32": (60, 61), "binary": (63,), "cp932": (95, 96), "eucjpms": (97, 98),
    "gb18030": (248, 249, 250),
}  # fmt: skip
_RANGES = (
    (101, 124, "utf16"), (128, 151, "ucs2"), (159, 159, "ucs2"), (160, 183, "utf32"), (192, 215, "utf8mb3"),
    (223, 223, "utf8mb3"), (224, 247, "utf8mb4"), (255, 323, "utf8mb4"), (576, 578, "utf8mb3"), (608, 610, "utf8mb4"),
    (640, 642, "ucs2"), (672, 674, "utf16"), (736, 738, "utf32"),
)  # fmt: skip
_NOPAD = 1024
"""MariaDB adds this to a collation's number for its variant that compares trailing blanks."""
_UCA1400 = 2048
_UCA1400_CHARSETS = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")
"""MariaDB numbers these collations 256 for each character set, in this order."""
_BY_NUMBER = {number: charset for charset, numbers in _LOW.items() for number in numbers}


def charset_of_collation(number: int) -> str:
    """The character set of a collation; empty for a number that is not known."""
    if _UCA1400 <= number < _UCA1400 + 256 * len(_UCA1400_CHARSETS):
        return _UCA1400_CHARSETS[(number - _UCA1400) // 256]
    if number >= _NOPAD:
        number -= _NOPAD
    if number in _BY_NUMBER:
        return _BY_NUMBER[number]
    return next((charset for first, last, charset in _RANGES if first <= number <= last), "")


def codec_of_collation(number: int) -> str:
    """Python's codec for texts of a collation; empty for bytes, and for a number that is not known."""
    return CODECS.get(charset_of_collation(number), "")
