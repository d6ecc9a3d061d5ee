"""Plain English as a ratchet: faults in docstrings, comments, messages and docs may only become fewer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.contracts.prose import (
    PRODUCT,
    ROOT,
    Sentence,
    in_comments,
    in_docs,
    in_docstrings,
    in_messages,
    product_files,
    sampled,
)

OPENINGS = re.compile(r"(?:[-*] |\(\d\) )?(?:What|Who|Whoever|Whatever|Whichever|Where|Of what|From when)\b(?!.*\?$)")
WORDS = re.compile(
    r"\b(nobody|somebody|anybody|everybody|whoever|wherever|anew|li(fe|ves)|behind|the peer|people|says?|said|tells?|told"
    r"|for ever|once more|left out|leaves? out|(?<!there )(is|are) no(?! longer))\b",
    re.IGNORECASE,
)
WORDS_MAX = 45
_CODE = re.compile(r"``[^`]*``|`[^`]*`")

PACKAGES: Mapping[str, int] = {}
PAGES: Mapping[str, int] = {
    "crash-sweep.md": 2,
}
"""Sentences with a fault that a package or a page may still have; any other has none. Lower a number after each
clean-up; never raise one."""


def fault(text: str) -> str:
    """The banned opening or word of a sentence, or its length; empty without a fault. Code in backticks is ignored."""
    plain = _CODE.sub("x", text)
    found = OPENINGS.match(plain) or WORDS.search(plain)
    if found is not None:
        return found.group()
    words = len(plain.split())
    return f"{words} words" if words > WORDS_MAX and "──" not in plain and not plain.startswith("|") else ""


def package(path: Path) -> str:
    """`seatunnel_py/spark`, `connectors/kafka`, `plugins/transforms`; modules of a root package count to the root."""
    top, *rest = path.relative_to(ROOT).parts[:-1]
    inner = [part for part in rest if part not in ("seatunnel_connectors", "seatunnel_plugins")]
    return "/".join((top, *inner[:1]))


def faults(sentences: Iterable[tuple[str, Sentence]]) -> Mapping[str, Sequence[str]]:
    found = defaultdict(list)
    for key, sentence in sentences:
        if why := fault(sentence.text):
            found[key].append(f"{sentence.place}: {why!r} in: {sentence.text}")
    return found


def too_many(found: Mapping[str, Sequence[str]], bounds: Mapping[str, int]) -> list[str]:
    return [
        f"{key} has {len(lines)} faults, the bound is {bounds.get(key, 0)}:\n  " + "\n  ".join(lines)
        for key, lines in found.items()
        if len(lines) > bounds.get(key, 0)
    ]


def in_packages() -> Iterable[tuple[str, Sentence]]:
    for path in product_files():
        for sentence in (*in_docstrings(path), *in_comments(path), *in_messages(path)):
            yield package(path), sentence


def test_the_product_has_no_more_faults_than_before() -> None:
    assert too_many(faults(in_packages()), PACKAGES) == []


def test_the_docs_have_no_more_faults_than_before() -> None:
    assert too_many(faults((sentence.path.name, sentence) for sentence in in_docs()), PAGES) == []


def test_every_bound_names_something_that_exists() -> None:
    packages = {package(path) for path in product_files()}
    pages = {sentence.path.name for sentence in in_docs()}

    assert (PACKAGES.keys() - packages, PAGES.keys() - pages) == (set(), set())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What a pipeline has staged that nobody will show.", "What"),
        ("(3) Where a chain breaks there is a channel.", "(3) Where"),
        ("Deletes what somebody has staged.", "somebody"),
        ("The value is no directory.", "is no"),
        ("There is no journal.", ""),
        ("The key is no longer unique.", ""),
        ("Compare the nodes ``behind`` it.", ""),
        ("What does a checkpoint cost?", ""),
        ("Runs " + "one after the other " * 12, "49 words"),
    ],
)
def test_faults_are_found(text: str, wanted: str) -> None:
    assert fault(text) == wanted


def test_one_seed_prints_the_same_sentences() -> None:
    """Without the same sentences a reviewer cannot repeat a check."""
    first, second = sampled(7, 20), sampled(7, 20)

    assert first == second and len(set(first)) == 20
    assert {sentence.path.relative_to(ROOT).parts[0] for sentence in sampled(7, 500)} >= {*PRODUCT, "docs"}
