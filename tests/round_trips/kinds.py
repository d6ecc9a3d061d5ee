"""Kinds of values: a type in a database's own words, edge values of it, and a way to draw more at random.

Values are texts that the database reads. One that it refuses is left out by the database itself (``databases.fill``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

Draw = Callable[[Random], str]


@dataclass(frozen=True, slots=True)
class Kind:
    """``words`` is the type as CREATE TABLE has it."""

    words: str
    edges: tuple[str, ...]
    draw: Draw

    def values(self, random: Random, count: int) -> list[str]:
        """Some edges and some drawn values, in random order."""
        edges = random.sample(self.edges, min(len(self.edges), max(1, count // 2)))
        values = [*edges, *(self.draw(random) for _ in range(count - len(edges)))]
        random.shuffle(values)
        return values


SPECIAL = (
    "", " ", "a", "A", "ä", "é", "e\u0301", "a ", " a", "\t", "\n", "\r\n", "\\", "\\N", "\\n", "NULL", "null", "None", "nan",
    '"', '""', "'", ",", ";", "|", "||", "\x01", "\x02", "\x03", "\x04", "\x05", "\x06", "\x07", "\x08", "\x1b[2J", "\x7f", "\x85",
    "\u2028", "\ufeff", "\ufffd", "\U0001f600", "\U0001f601", "\u202eabc", "0E-10", "1.10", "1e400", "true", "{}", "[]", "{a,b}",
    "<a>&amp;</a>", "]]>", "=1+1", "'quoted'", "line\nbreak", 'say "hi", he said', "\r", "\n\r", "a\r\nb\r\n", "\ufeffa", "\ufeff\"a\"", "\ufffe", "\uffff",
    "\U0010ffff", "\u200b", "\u00a0", "\u3000", "a\u00a0", "\x0b", "\x0c", "\x1a", "\x1c", "\x00", "a\x00b", "Null", "NIL", "N/A", "#N/A",
    "\\0", "\\x41", "\\u0041", "\\\\", "a\\", '\\"', "_x000D_", "_x0041_", "1", "007", "-0", "+1", "1.0", "1e5", "0x10", "1_000", "Infinity",
    "-inf", "12345678901234567890.123", "2024-01-31", "2024-01-31T12:34:56Z", "12:34", "1900-02-29", "on", "yes", "t", "False",
    "&lt;", "&#10;", "<![CDATA[x]]>", "<!-- -->", "@cmd", "\u200f", "I\u0307", "\u1e9e", "ﬁ", "x" * 300, "{\"a\": 1}", "[1,2", "%s", "${x}", "$1", "x" * 300, "-", "--", "#", "# comment",
)  # fmt: skip
LETTERS = "ab AZ09,;|\"'\\\t\n\r\x01\x02\x03\x1b<>&{}[]()=#%_-äßé中\u0301\U0001f600\u2028"


def text(random: Random) -> str:
    if random.random() < 0.3:
        return random.choice(SPECIAL)
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(0, 12)))


def short_text(length: int) -> Draw:
    return lambda random: text(random)[:length]


def integer(bits: int) -> Draw:
    def draw(random: Random) -> str:
        size = random.randrange(1, bits)
        return str(random.randrange(-(1 << size), 1 << size))

    return draw


def digits(whole: int, scale: int) -> Draw:
    """A decimal of at most so many digits on either side."""

    def draw(random: Random) -> str:
        left = str(random.randrange(10 ** random.randrange(0, whole + 1))) if whole > 0 else "0"
        right = "".join(random.choice("0123456789") for _ in range(random.randrange(0, scale + 1)))
        return f"{random.choice(['', '-'])}{left}{'.' + right if right else ''}"

    return draw


def floating(random: Random) -> str:
    return random.choice(
        [
            repr(struct.unpack("d", random.randbytes(8))[0]).replace("inf", "Infinity"),
            repr(random.uniform(-1, 1)),
            repr(random.uniform(-1e6, 1e6)),
            f"{random.uniform(-1, 1)}e{random.randrange(-300, 300)}",
        ]
    )


def small_floating(random: Random) -> str:
    return f"{random.uniform(-1, 1):.8g}e{random.randrange(-30, 30)}"


def date(random: Random) -> str:
    year = random.choice([random.randrange(1900, 2100), random.randrange(1, 10000)])
    return f"{year:04d}-{random.randrange(1, 13):02d}-{random.randrange(1, 29):02d}"


def time(places: int = 6) -> Draw:
    def draw(random: Random) -> str:
        clock = f"{random.randrange(24):02d}:{random.randrange(60):02d}:{random.randrange(60):02d}"
        kept = random.randrange(0, places + 1)
        return clock + (f".{random.randrange(10**kept):0{kept}d}" if kept else "")

    return draw


def timestamp(places: int = 6) -> Draw:
    return lambda random: f"{date(random)} {time(places)(random)}"


def zoned(random: Random) -> str:
    return f"{timestamp()(random)}{random.choice(['+00', '+05:30', '-08', 'Z', '+13:45'])}"


def zoned_time(random: Random) -> str:
    return f"{time()(random)}{random.choice(['+00', '+05:30', '-08', '+13:45'])}"


def one_of(*values: str) -> Draw:
    return lambda random: random.choice(values)


def uuid(random: Random) -> str:
    found = f"{random.getrandbits(128):032x}"
    return f"{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:]}"


def json(random: Random) -> str:
    """JSON text with numbers and texts that lose something on the way through doubles or other escapes."""
    import json as writer

    inner = text(random).replace("\0", "")
    return random.choice(
        [
            writer.dumps({"a": inner, "b": [1, None, True]}),
            writer.dumps(inner, ensure_ascii=False),
            '{"n": 12345678901234567890.12, "m": 1.10, "e": 1e-30}',
            '{"a": {"b": [[], {}, [null]]}}',
            '{"a": 1, "a": 2}',
            '{"": {"\\u0000x": 1}}' if random.random() < 0.1 else '{"": ""}',
            str(random.randrange(-(10**40), 10**40)),
            f"{random.randrange(10**20)}e{random.randrange(-400, 400)}",
            '["\\ud83d\\ude00", "\\/", "\\u2028"]',
            "  [ 1 , -0 , -0.0 , 1E+2 ]  ",
            "null",
        ]
    )


def hexadecimal(random: Random) -> str:
    return random.randbytes(random.randrange(0, 12)).hex()
