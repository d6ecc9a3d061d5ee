"""Translates functions on any value, on keys and on vectors, and the casts, with SeaTunnel's meaning, to Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from seatunnel_py.spark.dialect import des
from seatunnel_py.spark.dialect.call import INTEGERS, Argument, Call, Translation, mixed
from seatunnel_py.spark.query.types import text

_AES_BLOCK = 16
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


# ------------------------------------------------------------------ casts


def cast(value: Argument, target: str, *, safe: bool) -> str:
    """Cast to the Spark type ``target``; ``safe`` returns null for values that do not fit."""
    function = "try_cast" if safe else "CAST"
    dtype, x = value.type, str(value)
    if target == "TIMESTAMP_NTZ" and dtype in INTEGERS:
        return f"CAST(timestamp_millis({x}) AS TIMESTAMP_NTZ)"
    if target == "DATE" and dtype in INTEGERS:
        return f"{'try_' if safe else ''}to_date(lpad(CAST({x} AS STRING), 8, '0'), 'yyyyMMdd')"
    if target.startswith("TIME(") and dtype in INTEGERS:
        return f"{'try_' if safe else ''}to_time(lpad(CAST({x} AS STRING), 6, '0'), 'HHmmss')"
    if target == "BINARY" and dtype not in ("binary", "string", ""):
        return f"CAST(CAST({value.sql} AS STRING) AS BINARY)"
    if target == "BOOLEAN" and (dtype == "string" or dtype.startswith(_NUMBERS)):
        return _as_boolean(value, dtype, safe=safe)
    return f"{function}({value.sql} AS {target})"


def _as_boolean(value: Argument, dtype: str, *, safe: bool) -> str:
    """Only true, false, 1 and 0 are booleans. Spark would take any other number, and words such as yes, for true."""
    x = value.sql
    yes, no = (
        (f"lower({x}) IN ('true', '1')", f"lower({x}) IN ('false', '0')")
        if dtype == "string"
        else (
            f"({x}) = 1",
            f"({x}) = 0",
        )
    )
    other = "NULL" if safe else f"raise_error(concat('cannot be cast to BOOLEAN: ', {x}))"
    return f"CASE WHEN {yes} THEN TRUE WHEN {no} THEN FALSE WHEN ({x}) IS NOT NULL THEN {other} END"


# ------------------------------------------------------------------ choices


def _coalesce(call: Call) -> str:
    """The type is that of the first argument; the others are converted to it."""
    if not call.args:
        raise call.error("takes at least 1 argument")
    known = [arg for arg in call.args if not arg.is_null]
    dtype = known[0].type if known else ""
    args = [call[0].sql] + [
        arg.sql if not dtype or arg.is_null or arg.type == dtype else f"CAST({arg.sql} AS {dtype.upper()})"
        for arg in call.args[1:]
    ]
    return f"coalesce({', '.join(args)})"


def _ifnull(call: Call) -> str:
    call.takes(2)
    return _coalesce(call)


def _multi_if(call: Call) -> str:
    if len(call) < 3 or len(call) % 2 == 0:
        raise call.error("takes conditions with their values and one value more, such as MULTI_IF(a > 1, 'x', 'y')")
    pairs = zip(call.args[:-1:2], call.args[1:-1:2], strict=True)
    if (mixture := mixed([*call.args[1:-1:2], call.args[-1]])) is not None:
        raise call.error(mixture)
    branches = " ".join(f"WHEN {condition.sql} THEN {value.sql}" for condition, value in pairs)
    return f"CASE {branches} ELSE {call.args[-1].sql} END"


def _array(call: Call) -> str:
    """A text among the elements makes all of them texts."""
    types = {arg.type for arg in call.args}
    if "string" in types and types - {"string", "void"}:
        return f"array({', '.join(arg.as_text for arg in call.args)})"
    return call.plain("array")


def _explode(call: Call) -> str:
    """A lateral view returns no row for a null among the elements, unless it is an OUTER one."""
    call.takes(1)
    lateral = call.node.parent
    if not isinstance(lateral, exp.Lateral) or lateral.args.get("outer") or call[0].type.startswith("map<"):
        return call.plain("explode")
    return f"explode(filter({call[0].sql}, item -> item IS NOT NULL))"


# ------------------------------------------------------------------ encryption


def _aes_encrypt(call: Call) -> str:
    """AES in CBC mode, as base64; without a given vector a random one is put in front."""
    call.takes(2, 3)
    value, key = call[0].as_text, _aes_key(call)
    if len(call) == 2:
        return f"base64(aes_encrypt({value}, {key}, 'CBC', 'PKCS'))"
    vector = f"CAST({call[2].as_text} AS BINARY)"
    sealed = f"aes_encrypt({value}, {key}, 'CBC', 'PKCS', {vector})"
    return f"base64(substring({sealed}, {_AES_BLOCK + 1}))"


def _aes_decrypt(call: Call) -> str:
    call.takes(2, 3)
    sealed = f"unbase64({call[0].as_text})"
    if len(call) == 3:
        sealed = f"concat(CAST({call[2].as_text} AS BINARY), {sealed})"
    return f"decode(aes_decrypt({sealed}, {_aes_key(call)}, 'CBC', 'PKCS'), 'UTF-8')"


def _aes_key(call: Call) -> str:
    """``base64:…`` is the key itself, anything else a phrase whose hash is the key."""
    key = call[1]
    if key.text is not None and key.text.startswith("base64:"):
        return f"unbase64({text(key.text.removeprefix('base64:').strip())})"
    phrase = f"substring(unhex(sha2({key.sql}, 256)), 1, {_AES_BLOCK})"
    if key.text is not None:
        return phrase
    return f"IF(startswith({key.sql}, 'base64:'), unbase64(substring({key.sql}, 8)), {phrase})"


def _des(name: str) -> Translation:
    """The password comes first."""

    def translate(call: Call) -> str:
        call.takes(2)
        password = call[0].text
        if password is not None and len(password.encode()) < des.BLOCK:
            raise call.error(f"wants a password of {des.BLOCK} characters or more")
        return f"{name}({call[0].as_text}, {call[1].as_text})"

    return translate


# ------------------------------------------------------------------ vectors


def _dims(call: Call) -> str:
    call.takes(1)
    return f"size({call[0].sql})"


def _norm(call: Call) -> str:
    call.takes(1)
    return _length(call[0].sql)


def _length(vector: str) -> str:
    return f"sqrt(aggregate({vector}, 0D, (total, x) -> total + CAST(x * x AS DOUBLE)))"


def _pairwise(call: Call, of_pair: str) -> str:
    """The sum of an expression of ``x`` and ``y`` over both vectors, which must have the same length."""
    a, b = call[0].sql, call[1].sql
    total = f"aggregate(zip_with({a}, {b}, (x, y) -> CAST({of_pair} AS DOUBLE)), 0D, (total, x) -> total + x)"
    return f"IF(size({a}) = size({b}), {total}, raise_error('{call.name.upper()} of vectors of different lengths'))"


def _inner_product(call: Call) -> str:
    call.takes(2)
    return _known(call, _pairwise(call, "x * y"))


def _l1(call: Call) -> str:
    call.takes(2)
    return _known(call, _pairwise(call, "abs(x - y)"))


def _l2(call: Call) -> str:
    call.takes(2)
    return _known(call, f"sqrt({_pairwise(call, '(x - y) * (x - y)')})")


def _cosine(call: Call) -> str:
    """1 if one of the vectors is all zeros."""
    call.takes(2)
    lengths = f"({_length(call[0].sql)} * {_length(call[1].sql)})"
    return _known(call, f"IF({lengths} = 0, 1D, 1 - {_pairwise(call, 'x * y')} / {lengths})")


def _known(call: Call, result: str) -> str:
    """Null if a vector is null: a comparison of lengths would take that for a difference."""
    return f"CASE WHEN {call[0]} IS NOT NULL AND {call[1]} IS NOT NULL THEN {result} END"


def _reduce(call: Call) -> str:
    call.takes(3)
    method = call.word(2, "", frozenset({"TRUNCATE", "RANDOM_PROJECTION", "SPARSE_RANDOM_PROJECTION"}))
    if method != "TRUNCATE":
        raise call.error(f"by {method} draws another matrix in every process; only TRUNCATE can be repeated")
    return f"slice({call[0].sql}, 1, {call[1].sql})"


def _normalize(call: Call) -> str:
    call.takes(1)
    vector, length = call[0].sql, _length(call[0].sql)
    return f"IF({length} = 0, {vector}, transform({vector}, x -> CAST(x / {length} AS FLOAT)))"


OTHER_FUNCTIONS: Mapping[str, Translation] = {
    "COALESCE": _coalesce,
    "IFNULL": _ifnull,
    "MULTI_IF": _multi_if,
    "ARRAY": _array,
    "EXPLODE": _explode,
    "AES_ENCRYPT": _aes_encrypt,
    "AES_DECRYPT": _aes_decrypt,
    "DES_ENCRYPT": _des(des.ENCRYPT),
    "DES_DECRYPT": _des(des.DECRYPT),
    "VECTOR_DIMS": _dims,
    "VECTOR_NORM": _norm,
    "INNER_PRODUCT": _inner_product,
    "COSINE_DISTANCE": _cosine,
    "L1_DISTANCE": _l1,
    "L2_DISTANCE": _l2,
    "VECTOR_REDUCE": _reduce,
    "VECTOR_NORMALIZE": _normalize,
}
