"""PostgreSQL's types, with values at their edges."""

from __future__ import annotations

from random import Random

from tests.round_trips import kinds
from tests.round_trips.kinds import SPECIAL, Draw, Kind

SETUP = (
    "CREATE TYPE mood AS ENUM ('sad', 'happy', 'it''s, \"ok\"')",
    "CREATE TYPE pair AS (one int, other text)",
    "CREATE TYPE deep AS (one pair, many pair[], at timestamptz)",
    "CREATE DOMAIN exact AS numeric(12,4)",
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
)
_TEMPORAL = (
    "0001-01-01",
    "0044-03-15 BC",
    "4713-01-01 BC",
    "1582-10-10",
    "1677-09-21",
    "2262-04-12",
    "9999-12-31",
    "10000-01-01",
    "1582-10-05",
    "1899-12-31",
    "1900-02-28",
    "1970-01-01",
    "1969-12-31",
    "2016-12-31",
    "2024-02-29",
    "2024-03-31",
    "2038-01-19",
    "32767-12-31",
    "99999-12-31",
    "294246-12-31",
)
_MOMENTS = tuple(
    f"{day.removesuffix(' BC')} {clock}{' BC' if day.endswith('BC') else ''}"
    for day in _TEMPORAL
    for clock in ("00:00:00", "23:59:59.999999", "02:30:00.000001", "23:59:60")
)
_ZONED = tuple(f"{moment.removesuffix(' BC')}+00{' BC' if moment.endswith('BC') else ''}" for moment in _MOMENTS)
_NUMBERS = (
    "0",
    "-0.000",
    "1.10",
    "1e-19",
    "1e-40",
    "0.1234567890123456789012345",
    "NaN",
    "Infinity",
    "-Infinity",
    "1e38",
    "9" * 38,
    "9" * 39,
    "-1e60",
)


def array(draw: Draw) -> Draw:
    """An array in PostgreSQL's own text."""

    def one(random: Random) -> str:
        if random.random() < 0.15:
            return "NULL"
        return '"' + draw(random).replace("\\", "\\\\").replace('"', '\\"') + '"'

    return lambda random: "{" + ",".join(one(random) for _ in range(random.randrange(0, 5))) + "}"


def _bytes(random: Random) -> str:
    return "\\x" + kinds.hexadecimal(random)


def _bits(random: Random) -> str:
    return "".join(random.choice("01") for _ in range(random.randrange(0, 9)))


def _interval(random: Random) -> str:
    return f"{random.randrange(-99, 99)} mons {random.randrange(-99, 99)} days {kinds.time()(random)}"


def _network(random: Random) -> str:
    return random.choice([f"10.{random.randrange(256)}.0.1", "::1", "10.0.0.0/8", "2001:db8::/32"])


KINDS = (
    Kind("boolean", ("true", "false"), kinds.one_of("true", "false")),
    Kind("smallint", ("-32768", "32767", "0"), kinds.integer(15)),
    Kind("integer", ("-2147483648", "2147483647"), kinds.integer(31)),
    Kind("bigint", ("-9223372036854775808", "9223372036854775807", "9007199254740993"), kinds.integer(63)),
    Kind("real", ("NaN", "Infinity", "-0", "1e-45", "3.4028235e38", "0.1"), kinds.small_floating),
    Kind("double precision", ("NaN", "-Infinity", "-0", "5e-324", "1.7976931348623157e308", "0.30000000000000004"), kinds.floating),
    Kind("numeric", _NUMBERS, kinds.digits(30, 30)),
    Kind("numeric(10,2)", ("99999999.99", "-0.01", "0.00"), kinds.digits(8, 2)),
    Kind("numeric(38,18)", ("0." + "9" * 18, "9" * 20, "1e-18"), kinds.digits(20, 18)),
    Kind("numeric(38,0)", ("9" * 38, "-" + "9" * 38), kinds.digits(38, 0)),
    Kind("numeric(60,40)", ("1e-40", "9" * 20), kinds.digits(20, 40)),
    Kind("numeric(100,60)", ("3.1", "1e-60"), kinds.digits(40, 60)),
    Kind("numeric(5,-2)", ("12300", "-9999900"), kinds.digits(7, 0)),
    Kind("numeric(3,5)", ("0.00999",), kinds.one_of("0.00001", "-0.00123", "0")),
    Kind("money", ("-$12.34", "92233720368547758.07"), kinds.digits(10, 2)),
    Kind("text", SPECIAL, kinds.text),
    Kind("character varying(20)", ("", "x" * 20, "ä" * 20), kinds.short_text(20)),
    Kind("character(5)", ("", "a", "abcde"), kinds.short_text(5)),
    Kind("bytea", ("\\x", "\\x00", "\\xff01", "\\x61"), _bytes),
    Kind("date", (*_TEMPORAL, "5874897-12-31", "32768-01-01"), kinds.date),
    Kind("time", ("00:00:00", "23:59:59.999999", "12:34:56.789123"), kinds.time()),
    Kind("time(3)", ("12:34:56.789",), kinds.time(3)),
    Kind("time with time zone", ("12:34:56.789+05:30", "00:00:00-12"), kinds.zoned_time),
    Kind("timestamp", _MOMENTS, kinds.timestamp()),
    Kind("timestamp(3)", ("2024-01-01 00:00:00.123",), kinds.timestamp(3)),
    Kind("timestamp with time zone", _ZONED, kinds.zoned),
    Kind("interval", ("0", "178000000 years", "-00:00:00.000001", "1 year -1 days"), _interval),
    Kind("uuid", ("00000000-0000-0000-0000-000000000000",), kinds.uuid),
    Kind("json", ('{"a": 1.10, "a": 2}', "1e400", '"\\u00e4"', " [ ] ", "0.1000000000000000055"), kinds.json),
    Kind("jsonb", ('{"a": 1.10}', "12345678901234567890.12", '""'), kinds.json),
    Kind("xml", ("<a/>", "<a b=\"1\">x &amp; y</a>", "text"), kinds.one_of("<a>1</a>", "<b/>", "a")),
    Kind("inet", ("10.0.0.1", "10.0.0.1/8", "::/0"), _network),
    Kind("cidr", ("10.0.0.0/8",), kinds.one_of("10.0.0.0/8", "::/0")),
    Kind("macaddr", ("08:00:2b:01:02:03",), kinds.one_of("08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff")),
    Kind("bit(5)", ("10101", "00000"), kinds.one_of("10101", "01010", "11111")),
    Kind("bit varying(9)", ("", "1", "000000001"), _bits),
    Kind("point", ("(1.1,-2)", "(NaN,Infinity)"), kinds.one_of("(0,0)", "(1e-300,1e300)")),
    Kind("int4range", ("empty", "[1,5)", "(,)"), kinds.one_of("[1,5)", "[2,)")),
    Kind("tsvector", ("'a':1A 'it''s':2",), kinds.one_of("a b c", "'x':3")),
    Kind("mood", ("sad", "it's, \"ok\""), kinds.one_of("sad", "happy")),
    Kind("pair", ("(1,\"x, y\")", "(,)"), kinds.one_of("(1,a)", "(2,)")),
    Kind("positive", ("1",), kinds.one_of("1", "2147483647")),
    Kind("exact", ("99999999.9999", "-0.0001"), kinds.digits(8, 4)),
    Kind("deep", ("(,,)", '("(1,""x, y"")","{""(1,)"",""(2,\\\\"a\\\\")""}",0044-03-15 BC)'), kinds.one_of('("(3,z)",{},2024-01-01 00:00:00+00)', '(,"{NULL}",infinity)')),
    Kind("pair[]", ('{"(1,a)",NULL,"(,)"}', "{}"), kinds.one_of('{"(2,\\"x, y\\")"}', "{NULL}")),
    Kind("name", ("a", "x" * 63, ""), kinds.one_of("b", "A b")),
    Kind('"char"', ("", "a", "\\"), kinds.one_of("b", "c")),
    Kind("bpchar", ("", "a ", " a", "a\n "), kinds.text),
    Kind("timestamp(0)", ("1999-12-31 23:59:59.5", "2016-12-31 23:59:60"), kinds.timestamp()),
    Kind("timestamp(0) with time zone", ("2024-03-31 02:30:00+01",), kinds.zoned),
    Kind("time(0)", ("23:59:59.4",), kinds.time()),
    Kind("interval day to second(3)", ("1 day 00:00:00.123456",), _interval),
    Kind("numeric(1000,500)", ("1e-500", "9" * 500 + "." + "9" * 500), kinds.digits(300, 300)),
    Kind("numeric(76,38)", ("9" * 38 + "." + "9" * 38, "-1e-38"), kinds.digits(38, 38)),
    Kind("numeric(77,1)", ("9" * 76 + ".9",), kinds.digits(76, 1)),
    Kind("bit(64)", ("1" * 64, "0" * 64), lambda random: f"{random.getrandbits(64):064b}"),
    Kind("bit(1)", ("0", "1"), kinds.one_of("0", "1")),
    Kind("macaddr8", ("08:00:2b:01:02:03:04:05",), kinds.one_of("08:00:2b:ff:fe:01:02:03")),
    Kind("pg_lsn", ("FFFFFFFF/FFFFFFFF", "0/0"), kinds.one_of("16/B374D848")),
    Kind("xid8", ("18446744073709551615", "0"), kinds.one_of("1", "9223372036854775808")),
    Kind("circle", ("<(0,0),1e-300>",), kinds.one_of("<(1.1,2.2),3>")),
    Kind("path", ("[(0,0),(1,1)]", "((0,0),(1,1))"), kinds.one_of("[(0.1,-0)]")),
    Kind("tsrange", ('["2024-01-01","infinity")', "empty"), kinds.one_of("[2024-01-01,2024-01-02)")),
    Kind("int4multirange", ("{}", "{[1,3),[5,9)}"), kinds.one_of("{[1,2)}")),
    Kind("tsquery", ("'a' & 'b'",), kinds.one_of("'it''s' | !'b'")),
    Kind("jsonpath", ("$.\"a\"[*]?(@ > 1)",), kinds.one_of("$.a", "strict $.b")),
    Kind("real[]", ("{NaN,-0,Infinity,1e-45}",), array(kinds.small_floating)),
    Kind("bigint[]", ("{9223372036854775807,-9223372036854775808}",), array(kinds.integer(63))),
    Kind("interval[]", ("{1 mon,-00:00:00.000001}",), array(_interval)),
    Kind("json[]", (), array(kinds.json)),
    Kind("inet[]", ("{10.0.0.1/8,::1}",), array(_network)),
    Kind("bit varying(9)[]", ("{}", "{101}"), array(_bits)),
    Kind("numeric(60,40)[]", ("{1e-40,NULL}",), array(kinds.digits(20, 40))),
    Kind("oid", ("0", "4294967295"), kinds.one_of("1", "4294967295")),
    Kind("boolean[]", ("{}", "{t,NULL,f}"), array(kinds.one_of("t", "f"))),
    Kind("integer[]", ("{}", "{1,NULL}"), array(kinds.integer(31))),
    Kind("double precision[]", ("{NaN,-0,Infinity}",), array(kinds.floating)),
    Kind("numeric[]", ("{1e-60,NaN}", "{}"), array(kinds.digits(30, 30))),
    Kind("numeric(10,2)[]", ("{1.20,NULL}",), array(kinds.digits(8, 2))),
    Kind("text[]", ("{}", "{NULL}", '{""}', '{a,NULL,""}', '{"a,b","{}","\\""}'), array(kinds.text)),
    Kind("character(3)[]", ("{a,abc}",), array(kinds.one_of("a", "ab", "abc"))),
    Kind("character varying(5)[]", ("{abcde}",), array(kinds.short_text(5))),
    Kind("bytea[]", ('{"\\\\x00ff",NULL}',), array(_bytes)),
    Kind("date[]", ("{0044-03-15 BC,10000-01-01}",), array(kinds.date)),
    Kind("time[]", ("{12:34:56.789123}",), array(kinds.time())),
    Kind("timestamp[]", ("{2024-01-01 00:00:00.5}",), array(kinds.timestamp())),
    Kind("timestamp with time zone[]", ("{2024-01-01 00:00:00.5+02}",), array(kinds.zoned)),
    Kind("time with time zone[]", ("{12:34+05:30}",), array(kinds.zoned_time)),
    Kind("uuid[]", (), array(kinds.uuid)),
    Kind("jsonb[]", (), array(kinds.json)),
    Kind("mood[]", ("{happy,NULL}",), array(kinds.one_of("sad", "happy"))),
    Kind("numeric(10,2)", (), kinds.one_of("NaN")),
    Kind("date", (), kinds.one_of("infinity", "-infinity")),
    Kind("time", (), kinds.one_of("24:00:00")),
    Kind("timestamp", (), kinds.one_of("infinity", "294276-12-31 23:59:59.999999")),
    Kind("timestamp with time zone", (), kinds.one_of("-infinity")),
    Kind("integer[]", (), kinds.one_of("[0:1]={5,6}", "{{1,2},{3,4}}", "[5:5]={1}")),
)  # fmt: skip
