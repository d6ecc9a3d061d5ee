"""Numbers of the Sql transform against SeaTunnel's own results over random arguments (``seatunnel_numbers.tsv``).

Every result is the same in value and type, but for the differences that ``difference`` lists, each with its reason; what
stands in their place is checked as well.
"""

from __future__ import annotations

import math
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal, getcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from seatunnel_py.api import Column, TablePath, TableSchema, parse_type
from seatunnel_py.spark.query.catalyst import Analyst
from seatunnel_py.spark.query.session import ddl, put_view, query_frame, query_session

pytestmark = pytest.mark.spark

TABLE = Path(__file__).with_name("seatunnel_numbers.tsv")
GROUPS_PER_QUERY = 60
INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
FLOATING = ("float", "double")
getcontext().prec = 60


@dataclass(frozen=True)
class Case:
    """One line: ``declared``, ``java`` and ``text`` are SeaTunnel's type, class and value."""

    expression: str
    types: tuple[str, ...]
    texts: tuple[str, ...]
    declared: str
    java: str
    text: str

    @property
    def args(self) -> tuple[Any, ...]:
        return tuple(map(parsed, self.types, self.texts))

    @property
    def fails(self) -> bool:
        return self.java == "error"

    @property
    def operator(self) -> str:
        found = re.fullmatch(r"a (.) b", self.expression)
        return found[1] if found else ""

    @property
    def function(self) -> str:
        return self.expression.partition("(")[0]

    @property
    def digits(self) -> int | None:
        found = re.search(r", (-?\d+)\)", self.expression)
        return int(found[1]) if found else None


def parsed(dtype: str, text: str) -> Any:
    if text == r"\N":
        return None
    if dtype in FLOATING:
        return float(text.replace("Infinity", "inf"))
    return Decimal(text) if dtype.startswith("decimal") else int(text)


def cases() -> Iterator[Case]:
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            expression, *args, declared, java, text = line.split("\t")
            yield Case(expression, tuple(args[::2]), tuple(args[1::2]), declared, java, text)


# ---------------------------------------------------------------- differences

OVERFLOW = "a whole number that does not fit its type is an error, not another number"
ZERO = "a double divided by zero is an error, not Infinity or NaN"
DIGITS = "digits of whole numbers and decimals all count: SeaTunnel passes these through a double"
QUOTIENT = "a quotient of decimals has more digits: SeaTunnel rounds it away from zero to the digits of its operands"
MIXED = (
    "a decimal with a double gives the decimal's type, rounded to it: SeaTunnel's value has more digits than its type"
)
CUT = (
    "a remainder of decimals keeps the digits that its type has: SeaTunnel makes an INT of it where the divisor is one"
)
PLACES = "ceil and floor to a number of digits keep these: SeaTunnel makes an INT of the result, which cuts them off"
LARGE = "a remainder of doubles that would take more than 38 digits is refused"
REFUSED = "SeaTunnel refuses a type, a number of digits or a NaN that has a result"


def difference(case: Case) -> str:
    """Why the value is another one; empty: it is the same. OVERFLOW, ZERO and LARGE are errors."""
    if case.fails:
        return REFUSED if has_result(case) else ""
    if None in case.args:
        return ""
    if case.function == "mod" and set(FLOATING) & set(case.types) and not any(map(fit(case), (18, 24, 6))):
        return LARGE
    if overflows(case):
        return OVERFLOW
    if case.operator in ("/", "%") and set(FLOATING) & set(case.types) and case.args[1] == 0:
        return ZERO
    decimal = any(dtype.startswith("decimal") for dtype in case.types)
    if case.operator and decimal and set(FLOATING) & set(case.types):
        return OVERFLOW if beyond(case) else MIXED
    if case.operator == "/" and decimal:
        return QUOTIENT
    if case.operator == "%" and decimal and case.java in ("Integer", "Long"):
        return CUT
    binary = case.operator == "%" and case.declared == "double"
    if (case.operator or case.function == "mod") and not binary and any(map(through_double, case.args)):
        return DIGITS
    if case.function in ("ceil", "floor") and case.digits is not None:
        tiny = 0 < abs(case.args[0]) < 1e-15
        return PLACES if case.digits > 0 or abs(case.args[0]) >= 2**31 or tiny else ""
    return ""


def has_result(case: Case) -> bool:
    """Where SeaTunnel refuses and there is a result: all but a logarithm or remainder that does not exist."""
    if case.function in ("abs", "sign", "round", "trunc", "truncate", "ceil", "floor"):
        return True
    return "arg type" in case.text and "Class" not in case.text


def through_double(value: Any) -> bool:
    return isinstance(value, int | Decimal) and Decimal(repr(float(value))) != value


def beyond(case: Case) -> bool:
    """Whether the result does not fit into the decimal that SeaTunnel declares."""
    precision, scale = map(int, re.findall(r"\d+", case.declared))
    exact = exact_of(case.operator, *case.args)
    return abs(exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)) >= Decimal(10) ** (precision - scale)


def numbers(case: Case) -> tuple[Any, Any]:
    """Both operands: a FLOAT as the double that it is, a divisor that stands in the expression as what it says."""
    wide = [in_float(one) if dtype == "float" else one for one, dtype in zip(case.args, case.types, strict=True)]
    literal = case.expression.partition(", ")[2].rstrip(")")
    return wide[0], wide[1] if len(wide) > 1 else float(literal)


def fit(case: Case) -> Callable[[int], bool]:
    """Whether both numbers fit into decimals of that scale, or the dividend is the remainder."""
    a, b = (Decimal(repr(one)) if isinstance(one, float) else Decimal(one) for one in numbers(case))

    def fits(scale: int) -> bool:
        least = Decimal(1).scaleb(-scale)
        small = abs(a) < abs(b) or (case.declared in INTEGERS and abs(a) < 1)
        return small or all(abs(one) < Decimal(10) ** (38 - scale) and one % least == 0 for one in (a, b))

    return fits


def overflows(case: Case) -> bool:
    bits = INTEGERS.get(case.declared)
    if bits is None or case.operator in ("/", "%") or case.digits is not None:
        return False
    a = case.args[0]
    if isinstance(a, float) and not math.isfinite(a):
        return math.isinf(a) and case.function in ("ceil", "ceiling", "floor")
    match case.function if not case.operator else case.operator:
        case "abs":
            exact = abs(a)
        case "ceil" | "ceiling" | "floor":
            exact = a
        case "+" | "-" | "*" as operator:
            exact = exact_of(operator, *case.args)
        case _:
            return False
    return not -(2 ** (bits - 1)) - 1 < exact < 2 ** (bits - 1)


def exact_of(operator: str, a: Any, b: Any) -> Decimal:
    x, y = (Decimal(repr(one)) if isinstance(one, float) else Decimal(one) for one in (a, b))
    match operator:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            return x / y
    return x % y


def type_of(case: Case) -> str | None:
    """The type where it is another one than SeaTunnel declares; None: any that holds the value. A decimal's holds every
    digit of the result, and what is cut keeps the type of its value."""
    decimal = any(dtype.startswith("decimal") for dtype in case.types)
    if case.function in ("round", "ceil", "floor") and (decimal or case.digits is not None):
        return None if decimal else case.types[0]
    if case.function in ("trunc", "truncate"):
        return None if decimal else case.types[0]
    if (case.operator or case.function == "mod") and case.declared.startswith("decimal"):
        return None
    return case.declared


# ---------------------------------------------------------------- results here


class Runner:
    def __init__(self, session: Any) -> None:
        self._analyst = Analyst(session)
        self._session = query_session(session)

    def run(self, groups: Sequence[Sequence[Case]]) -> list[tuple[str, list[Any]]]:
        """Type and values of each group, whose cases have one expression and types; all from one query."""
        columns: list[Column] = []
        listed = []
        rows: list[list[Any]] = [[] for _ in range(max(map(len, groups)))]
        for number, group in enumerate(groups):
            for at, dtype in enumerate(group[0].types):
                columns.append(Column(f"g{number}{'ab'[at]}", parse_type(dtype)))
                for place, row in enumerate(rows):
                    row.append(group[place].args[at] if place < len(group) else None)
            own = re.sub(r"\b([ab])\b", rf"g{number}\1", group[0].expression)
            listed.append(f"{own} AS c{number}")
        schema = TableSchema(TablePath("", "", "t"), tuple(columns))
        put_view("t", self._session.createDataFrame([tuple(row) for row in rows], ddl(schema))._jdf)
        analysis = self._analyst.analyse(f"SELECT {', '.join(listed)} FROM t", {"t": schema}, "seatunnel")
        found = query_frame(self._session, analysis.query).collect()
        return [
            (str(analysis.columns[number].dtype), [found[place][number] for place in range(len(group))])
            for number, group in enumerate(groups)
        ]


def grouped(some: Sequence[Case]) -> list[list[Case]]:
    found: dict[tuple[str, tuple[str, ...]], list[Case]] = defaultdict(list)
    for case in some:
        found[case.expression, case.types].append(case)
    return list(found.values())


@pytest.fixture(scope="module")
def runner(session: Any) -> Runner:
    return Runner(session)


def is_error(case: Case) -> bool:
    return (case.fails and not has_result(case)) or difference(case) in (OVERFLOW, ZERO, LARGE)


def test_numbers_are_those_of_seatunnel(runner: Runner) -> None:
    """Issue 23, point 9: `mod(13, 5.4)` is 2.2, as all others are what they are there."""
    wrong = []
    groups = grouped([case for case in cases() if not is_error(case)])
    for first in range(0, len(groups), GROUPS_PER_QUERY):
        some = groups[first : first + GROUPS_PER_QUERY]
        for group, (dtype, values) in zip(some, runner.run(some), strict=True):
            for case, value in zip(group, values, strict=True):
                if type_of(case) not in (None, dtype):
                    wrong.append(f"{case}: the type is {dtype}")
                elif not right(case, value, dtype):
                    wrong.append(f"{case} {difference(case)}: {value!r} {dtype}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:60])


def right(case: Case, value: Any, dtype: str) -> bool:
    """The value is SeaTunnel's, or what the difference says."""
    match difference(case):
        case "":
            return same(case.text, value)
        case reason if reason in (DIGITS, CUT):
            exact = exact_of(case.operator or "%", *numbers(case))
            return same(str(int(exact) if case.declared in INTEGERS else exact), value)
        case reason if reason == QUOTIENT:
            places = Decimal(1).scaleb(-int(re.split(r"[ ,)]+", case.declared)[1]))
            exact = exact_of("/", *case.args)
            near = abs(Decimal(value) - exact) <= Decimal(1).scaleb(-int(dtype[:-1].rpartition(" ")[2]))
            return near and (through_any(case) or exact.quantize(places, ROUND_UP) == Decimal(case.text))
        case reason if reason == MIXED:
            exact = exact_of(case.operator, *case.args)
            return abs(Decimal(value) - exact.quantize(Decimal(value), ROUND_HALF_UP)) <= Decimal(1).scaleb(
                Decimal(value).as_tuple().exponent  # type: ignore[arg-type]
            )
        case reason if reason == PLACES:
            return abs(value - case.args[0]) <= 10 and (
                abs(value) > 2**31 or abs(int(value) - int(case.text)) in (0, 10)
            )
    return value is not None or None in case.args


def through_any(case: Case) -> bool:
    return any(map(through_double, case.args))


def same(text: str, value: Any) -> bool:
    if text == r"\N" or value is None:
        return text == r"\N" and value is None
    if not isinstance(value, float):
        return Decimal(text) == Decimal(value)
    wanted = float(text.replace("Infinity", "inf"))
    if math.isnan(wanted) or math.isinf(wanted):
        return repr(wanted) == repr(value)
    return math.isclose(wanted, value, rel_tol=1e-15, abs_tol=0.0) or in_float(wanted) == value


def in_float(value: float) -> float | None:
    """The nearest FLOAT: SeaTunnel prints fewer digits of these."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return None


def test_what_has_no_result_is_an_error(runner: Runner) -> None:
    """As with SeaTunnel; and an overflow, which is a wrong number there."""
    silent = []
    one_of_each = {
        (case.function, difference(case), case.text[:8] * case.fails): case for case in cases() if is_error(case)
    }
    for case in one_of_each.values():
        try:
            silent.append(f"{case}: {runner.run([[case]])}")
        except PySparkException:
            continue
    assert not silent, "\n".join(silent)
