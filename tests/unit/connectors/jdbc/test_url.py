"""URLs: what they mean, where secrets go, what is refused, what is reported."""

from __future__ import annotations

import logging
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.jdbc.url import REFUSED, parse_url, report_unknown, resolve
from seatunnel_py.api import Secret


@pytest.mark.parametrize(
    ("url", "dialect", "host", "port", "database"),
    [
        ("jdbc:postgresql://h:5433/db", "postgres", "h", 5433, "db"),
        ("jdbc:postgresql://h/db?ssl=true", "postgres", "h", 5432, "db"),
        ("jdbc:postgresql://[::1]:5433/db", "postgres", "::1", 5433, "db"),
        ("jdbc:postgresql:db", "postgres", "localhost", 5432, "db"),
        ("jdbc:postgresql://h1:1,h2:2/db", "postgres", "h1", 1, "db"),
        ("postgresql+psycopg://u:p@h/db", "postgres", "h", 5432, "db"),
        ("jdbc:mysql://h:3307/db?useSSL=false&serverTimezone=UTC", "mysql", "h", 3307, "db"),
        ("jdbc:mariadb://h", "mysql", "h", 3306, ""),
        ("jdbc:mysql://h:3306/a%20b", "mysql", "h", 3306, "a b"),
        ("oracle+oracledb://u:p@h:1521/x", "sqlalchemy", "h", 1521, "x"),
    ],
)
def test_places(url: str, dialect: str, host: str, port: int, database: str) -> None:
    address = parse_url(url)

    assert (address.dialect, address.host, address.port, address.database) == (dialect, host, port, database)


@pytest.mark.parametrize(
    ("url", "places", "display"),
    [
        ("jdbc:mysql://h/db", (("h", 3306),), "h:3306/db"),
        ("jdbc:mariadb://h1:1,h2/db", (("h1", 1), ("h2", 3306)), "h1:1,h2:3306/db"),
        ("jdbc:postgresql://h1,[::1]:2/db", (("h1", 5432), ("::1", 2)), "h1:5432,::1:2/db"),
    ],
)
def test_several_servers(url: str, places: tuple[tuple[str, int], ...], display: str) -> None:
    address = parse_url(url)

    assert (address.places, address.display) == (places, display)


def test_sqlite_files() -> None:
    assert parse_url("jdbc:sqlite:/a b/c.db").path == "/a b/c.db"
    assert parse_url("sqlite:///relative.db").path == "relative.db"
    assert parse_url("sqlite:////absolute.db").path == "/absolute.db"
    with pytest.raises(ValueError, match="in memory"):
        parse_url("jdbc:sqlite::memory:")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("jdbc:postgres1://h/d", "did you mean jdbc:postgres"),
        ("jdbc:oracle:thin:@h", "not known"),
        ("h/d", "neither a JDBC URL"),
        ("jdbc:postgresql://h:x/d", "port 'x'"),
    ],
)
def test_what_is_no_url_is_said(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_url(url)


SECRET_URLS = (
    "jdbc:postgresql://h/d?user=u&password=s3cret",
    "postgresql://u:s3cret@h/d",
    "jdbc:mysql://u:s3cret@h/d",
    "mssql+pyodbc://u:s3cret@h/d",
)


@pytest.mark.parametrize("url", SECRET_URLS)
def test_secrets_of_a_url_are_kept_apart(url: str) -> None:
    address = pickle.loads(pickle.dumps(parse_url(url)))

    assert address.secret == "s3cret" and address.user == "u"
    assert "s3cret" not in repr(address) + str(address) + address.display


def test_options_win_over_the_url() -> None:
    address = resolve("jdbc:postgresql://u:p@h/d?ssl=true", "other", Secret("q"), {"ApplicationName": "x"})

    assert (address.user, address.secret, dict(address.parameters)) == (
        "other", "q", {"ssl": "true", "applicationname": "x"},
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_dangerous_parameters_are_refused_by_name(name: str) -> None:
    for spelling in (name, name.upper(), name.title()):
        with pytest.raises(ValueError, match=spelling.lower()):
            parse_url(f"jdbc:mysql://h/d?a=b&{spelling}=x")
        with pytest.raises(ValueError, match=spelling):
            resolve("jdbc:mysql://h/d", None, None, {spelling: "x"})
    with pytest.raises(ValueError, match=name):
        parse_url(f"oracle://h/d?{name}=1")


def test_unknown_parameters_are_reported_by_name_but_not_by_value(caplog: pytest.LogCaptureFixture) -> None:
    address = parse_url("jdbc:postgresql://h/d?ssl=true&rewriteBatchedInserts=true&whatIsThis=s3cret")

    with caplog.at_level(logging.WARNING):
        assert report_unknown(address, frozenset({"ssl"})) == ("whatisthis",)

    assert "whatisthis" in caplog.text and "s3cret" not in caplog.text


@given(st.text(max_size=80))
def test_any_text_is_an_address_or_a_value_error(text: str) -> None:
    try:
        parse_url("jdbc:postgresql://" + text)
    except ValueError:
        return
