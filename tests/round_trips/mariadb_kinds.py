"""MariaDB's types, with values at their edges."""

from __future__ import annotations

from random import Random

from tests.round_trips import kinds
from tests.round_trips.kinds import SPECIAL, Kind


def _unsigned(bits: int) -> kinds.Draw:
    return lambda random: str(random.randrange(1 << random.randrange(1, bits + 1)))


def _hex(random: Random) -> str:
    return "x:" + kinds.hexadecimal(random)


KINDS = (
    Kind("tinyint", ("-128", "127"), kinds.integer(7)),
    Kind("tinyint(1)", ("0", "1"), kinds.one_of("0", "1")),
    Kind("tinyint(1)", ("2", "-1", "127"), kinds.integer(7)),
    Kind("tinyint unsigned", ("255", "0"), _unsigned(8)),
    Kind("smallint", ("-32768", "32767"), kinds.integer(15)),
    Kind("smallint unsigned", ("65535",), _unsigned(16)),
    Kind("mediumint", ("-8388608", "8388607"), kinds.integer(23)),
    Kind("int", ("-2147483648", "2147483647"), kinds.integer(31)),
    Kind("int unsigned", ("4294967295",), _unsigned(32)),
    Kind("int(8) unsigned zerofill", ("42",), _unsigned(20)),
    Kind("bigint", ("-9223372036854775808", "9223372036854775807"), kinds.integer(63)),
    Kind("bigint unsigned", ("18446744073709551615", "9223372036854775808"), _unsigned(64)),
    Kind("decimal(10,2)", ("99999999.99", "-0.01", "0.00"), kinds.digits(8, 2)),
    Kind("decimal(38,18)", ("0." + "9" * 18,), kinds.digits(20, 18)),
    Kind("decimal(65,30)", ("9" * 35 + "." + "9" * 30, "1e-30"), kinds.digits(35, 30)),
    Kind("decimal(65,0)", ("9" * 65,), kinds.digits(60, 0)),
    Kind("float", ("0.1", "3.40282e38", "-1e-37"), kinds.small_floating),
    Kind("double", ("0.30000000000000004", "1.7976931348623157e308", "5e-324"), kinds.floating),
    Kind("bit(1)", ("0", "1"), kinds.one_of("0", "1")),
    Kind("bit(64)", ("18446744073709551615",), _unsigned(64)),
    Kind("year", ("0", "1901", "2155"), kinds.one_of("1999", "2024")),
    Kind("date", ("1000-01-01", "9999-12-31", "0001-01-01"), kinds.date),
    Kind("time", ("00:00:00", "23:59:59"), kinds.time(0)),
    Kind("time(6)", ("23:59:59.999999",), kinds.time()),
    Kind("datetime", ("1000-01-01 00:00:00", "9999-12-31 23:59:59"), kinds.timestamp(0)),
    Kind("datetime(6)", ("9999-12-31 23:59:59.999999", "0001-01-01 00:00:00"), kinds.timestamp()),
    Kind(
        "timestamp(6) null",
        ("1970-01-01 00:00:01", "2038-01-19 03:14:07.999999"),
        kinds.one_of("2024-05-01 12:00:00.5"),
    ),
    Kind("char(5)", ("", "a", "abcde"), kinds.short_text(5)),
    Kind("varchar(300)", SPECIAL, kinds.text),
    Kind("text", SPECIAL, kinds.text),
    Kind("varchar(20) character set latin1", ("é", "ß"), kinds.one_of("a", "ü", "")),
    Kind("binary(4)", ("x:00ff00ff", "x:61626364"), kinds.one_of("x:01020304")),
    Kind("varbinary(20)", ("x:", "x:00", "x:ff"), _hex),
    Kind("blob", ("x:", "x:00ff", "x:61"), _hex),
    Kind("enum('a','b','')", ("a", ""), kinds.one_of("a", "b")),
    Kind("set('x','y')", ("", "x,y"), kinds.one_of("x", "y", "x,y")),
    Kind("json", ('{"a": 1.10}', "[]", "1e400"), kinds.json),
    Kind("uuid", ("00000000-0000-0000-0000-000000000000",), kinds.uuid),
    Kind("inet6", ("::1", "2001:db8::1"), kinds.one_of("::", "ff02::1")),
    Kind("varchar(20) character set utf8mb3", ("é", "中", "\uffff"), kinds.short_text(20)),
    Kind("varchar(20) character set ucs2", ("é", "中"), kinds.short_text(20)),
    Kind("varchar(20) character set latin1 collate latin1_bin", ("€", "\x80", "\x81", "ÿ"), kinds.short_text(20)),
    Kind("char(5) character set ascii", ("a b",), kinds.short_text(5)),
    Kind("varchar(20) collate utf8mb4_bin", ("a ", "A"), kinds.short_text(20)),
    Kind("longtext character set cp1251", ("Ж", "я"), kinds.one_of("б", "")),
    Kind("tinytext", ("x" * 255,), kinds.short_text(60)),
    Kind("mediumblob", ("x:efbbbf61", "x:00", "x:c328"), _hex),
    Kind("bit(8)", ("0", "255"), _unsigned(8)),
    Kind("bit(13)", ("8191", "1"), _unsigned(13)),
    Kind("decimal(38,38)", ("0." + "9" * 38, "1e-38"), kinds.digits(0, 38)),
    Kind("decimal(20,0) unsigned zerofill", ("7", "18446744073709551616"), _unsigned(64)),
    Kind("float(7,3)", ("1234.567", "-0"), kinds.digits(4, 3)),
    Kind("double unsigned", ("0", "4.9406564584124654e-324"), lambda random: kinds.floating(random).lstrip("-")),
    Kind("datetime(3)", ("2016-12-31 23:59:59.999", "1582-10-10 00:00:00"), kinds.timestamp(3)),
    Kind("timestamp null", ("1970-01-01 00:00:01", "2038-01-19 03:14:07"), kinds.one_of("2024-03-31 02:30:00")),
    Kind("time(3)", ("00:00:00.001",), kinds.time(3)),
    Kind("year", ("0", "00", "69", "70"), kinds.one_of("2155", "1901")),
    Kind("enum('NULL','1','it''s','ä ','0')", ("NULL", "it's", "ä"), kinds.one_of("1", "0", "NULL")),
    Kind("set('a b','0','é','it')", ("", "a b,é", "it"), kinds.one_of("0", "it", "a b,0")),
    Kind("json", ('{"a": 1, "a": 2}', "12345678901234567890123456789.5", " [1 , 2] "), kinds.json),
    Kind("inet4", ("0.0.0.0", "255.255.255.255"), kinds.one_of("10.0.0.1")),
    Kind("varbinary(3)", ("x:00ff",), _hex),
    Kind("date", (), kinds.one_of("0000-00-00", "2024-05-00")),
    Kind("datetime", (), kinds.one_of("0000-00-00 00:00:00", "2024-00-01 12:00:00")),
    Kind("timestamp null", (), kinds.one_of("0000-00-00 00:00:00")),
    Kind("time", (), kinds.one_of("838:59:59", "-00:00:01", "24:00:00")),
)
