"""Prints random sentences of docstrings, docs and error messages: `make prose SEED=1 COUNT=20`.

A reader who knows only the glossary should understand each sentence by itself.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("seatunnel_py", "connectors", "plugins")
DOCS = ("README.md", "CHANGELOG.md", "docs/*.md")
WORDS_MIN = 4  # a shorter piece is a label, not a sentence
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(*])")
_DIRECTIVE = re.compile(r"#!|#\s*(noqa|type:|pragma|mypy:|fmt:|-{3,})")
_NESTED_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with the file and the line of its paragraph, docstring or message."""

    path: Path
    line: int
    text: str
    context: str = ""
    """The definition that a docstring belongs to, or a page's heading and the head of a table."""

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}" + (f" ({self.context})" if self.context else "")


def product_files() -> list[Path]:
    return sorted(path for top in PRODUCT for path in (ROOT / top).rglob("*.py"))


def in_docstrings(path: Path) -> Iterator[Sentence]:
    """Sentences of all docstrings, those of constants and fields included."""
    for node in ast.walk(ast.parse(path.read_text())):
        body = getattr(node, "body", None)
        defined = getattr(node, "name", "")
        for statement in body if isinstance(body, list) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield from _sentences(path, value.lineno, value.value, defined)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                defined = ast.unparse(statement.targets[0] if isinstance(statement, ast.Assign) else statement.target)


def in_comments(path: Path) -> Iterator[Sentence]:
    """Sentences of all comments; lines of one block belong together."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type != tokenize.COMMENT or _DIRECTIVE.match(token.string):
            continue
        row, column = token.start
        if row != last + 1 or token.line[:column].strip():
            yield from _sentences(path, first, " ".join(block))
            block, first = [], row
        block.append(token.string.lstrip("#: "))
        last = row
    yield from _sentences(path, first, " ".join(block))


def in_messages(path: Path) -> Iterator[Sentence]:
    """Sentences of the texts in `raise` statements; a value is shown as its expression in braces."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield from _sentences(path, argument.lineno, argument.value)
                elif isinstance(argument, ast.JoinedStr):
                    yield from _sentences(path, argument.lineno, _template(argument))


def in_docs() -> Iterator[Sentence]:
    """Sentences of the pages, without code blocks; a row of a table counts as one paragraph."""
    for path in sorted(page for pattern in DOCS for page in ROOT.glob(pattern)):
        text = re.sub(r"```.*?```", lambda block: "\n" * block.group().count("\n"), path.read_text(), flags=re.DOTALL)
        line, heading, head = 1, "", ""
        for paragraph in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.)))", text):
            stripped = paragraph.strip()
            if stripped.startswith("#"):
                heading, head = stripped.lstrip("# "), ""
            elif stripped.startswith("|"):
                head = head or stripped
                yield from _sentences(path, line, paragraph, f"{heading}: {head}")
            elif stripped:
                head = ""
                yield from _sentences(path, line, paragraph, heading)
            line += paragraph.count("\n")


def _sentences(path: Path, line: int, text: str, context: str = "") -> Iterator[Sentence]:
    for block in _NESTED_BLOCK.split(text):
        for sentence in _ENDS.split(" ".join(block.split())):
            if len(sentence.split()) >= WORDS_MIN:
                yield Sentence(path, line, sentence, context)


def _template(text: ast.JoinedStr) -> str:
    parts = []
    for part in text.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(f"{{{ast.unparse(part.value)}}}")
        elif isinstance(part, ast.Constant):
            parts.append(str(part.value))
    return "".join(parts)


def sampled(seed: int, count: int) -> list[Sentence]:
    """Sentences of docs, docstrings and messages, chosen at random; one seed always chooses the same."""
    return random.Random(seed).sample(_everything(), count)


@cache
def _everything() -> list[Sentence]:
    found = list(in_docs())
    for path in product_files():
        found += [*in_docstrings(path), *in_messages(path)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="default: a random one, which is printed")
    parser.add_argument("--count", type=int, default=20, help="number of sentences")
    given = parser.parse_args()
    seed = random.randrange(10**6) if given.seed is None else given.seed
    print(f"seed {seed}")
    for sentence in sampled(seed, given.count):
        print(f"\n{sentence.place}\n  {sentence.text}")


if __name__ == "__main__":
    main()
