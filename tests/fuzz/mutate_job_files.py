"""Mutated job files: each is refused with a typed error or read, nothing else, and none takes a second.

Run as ``python -m tests.fuzz.mutate_job_files --count 100000 --seed 1``. A failure prints the seed and the
ordinal, which make the same mutant again, and the mutant itself.
"""

from __future__ import annotations

import os
import random
import re
import sys
from functools import cache
from pathlib import Path

from seatunnel_py.api.options import SinkOptions, SourceOptions, TransformOptions
from seatunnel_py.config import loads, resolve_step
from seatunnel_py.errors import JobFileError, PlanError
from tests.fuzz.campaign import Campaign

ROOT = Path(__file__).resolve().parents[2]
TOKEN = re.compile(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|\$\{[^}\n]*\}|[\w.-]+|\s+|.')
NASTY = (
    *"{}[]\"'$#=:,+\\/.?-\n\t\0\r",
    *("\ufeff", "\u2028", "\u0085", "\\ud800", '"""', "${", "${?", "}", "${a:", "${env:", "${file:/etc/passwd}"),
    *("+=", "//", "#", "[[[[", "{{{{", "]]]]", "}}}}", "1e999", "9" * 300, "-", "0x1F", "NaN", "null", "true"),
    *("include ", 'include "x.conf"\n', "include.", 'include url("http://127.0.0.1/")', 'include file("/etc/passwd")'),
    *("env = ${env}\n", "a = ${b}\nb = ${a}\n", "source = ${source}\n", "x = [${y}, ${y}]\ny = [${z}, ${z}]\n"),
    *("strict = false\n", "plugin_name = 7\n", "shade.identifier = base64\n", "job { mode = [] }\n", "spark = 1\n"),
    *("source = []\n", "sink = null\n", "source += { plugin_name = A }\n", ". = 1\n", "a..b = 1\n", "\u00e9\ud7ff"),
)
SAMPLE = """
env { job.mode = BATCH, parallelism = ${n:2}, spark.executor.memory = 1g }
source { FakeSource { row.num = 3, schema { fields { id = bigint, name = "string" } } } Jdbc { url = ${u} } }
transform { Sql { query = "select * from "${t} } }
sink = [ { plugin_name = Console, password = "x" }, ${base} { plugin_name = Console } ]
base { plugin_input = [a, b] }
"""


def conformance_directory() -> Path | None:
    """Where SeaTunnel's job files are: SEATUNNEL_CONFORMANCE, or beside the repository."""
    candidates = [os.environ.get("SEATUNNEL_CONFORMANCE", ""), str(ROOT.parent / "shared" / "conformance")]
    return next((Path(one) for one in candidates if one and (Path(one) / "jobs").is_dir()), None)


@cache
def corpus() -> list[str]:
    """The texts that are mutated."""
    places = [(ROOT / "configs").glob("**/*.conf")]
    directory = conformance_directory()
    if directory is not None:
        places.append((directory / "jobs").glob("**/*.conf"))
    return [SAMPLE, *(path.read_text(encoding="utf-8") for place in places for path in sorted(place))]


def mutant(seed: int, ordinal: int) -> str:
    """The mutant of that number; the same for the same seed and corpus."""
    chance, texts = random.Random(f"{seed}:{ordinal}"), corpus()
    text = chance.choice(texts)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        text = chance.choice((_characters, _tokens, _insertion, _splice))(text, texts, chance)
    return text


def _characters(text: str, _: list[str], chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    length = chance.choice((0, 1, 1, 2, 20))
    return text[:at] + chance.choice(("", chance.choice(NASTY), chr(chance.randrange(1, 0x3000)))) + text[at + length :]


def _tokens(text: str, _: list[str], chance: random.Random) -> str:
    tokens = TOKEN.findall(text)
    if len(tokens) < 2:
        return text
    one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    match chance.randrange(4):
        case 0:
            tokens[one], tokens[other] = tokens[other], tokens[one]
        case 1:
            del tokens[one]
        case 2:
            tokens.insert(one, tokens[other])
        case _:
            first, last = sorted((one, min(other, one + 200)))
            tokens[last:last] = tokens[first:last]
    return "".join(tokens)


def _insertion(text: str, _: list[str], chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(NASTY) * chance.choice((1, 1, 1, 2, 60)) + text[at:]


def _splice(text: str, texts: list[str], chance: random.Random) -> str:
    other = chance.choice(texts)
    return text[: chance.randrange(len(text) + 1)] + other[chance.randrange(len(other) + 1) :]


def judge(text: str) -> str:
    """``read`` or ``refused``; anything that the reader raises beside its own errors goes through."""
    try:
        job = loads(text, {"n": "3"}, environment={})
        for steps, model in (
            (job.sources, SourceOptions),
            (job.transforms, TransformOptions),
            (job.sinks, SinkOptions),
        ):
            for step in steps:
                resolve_step(step, model, strict=False, secrets=job.secrets)
        job.redacted()
    except (JobFileError, PlanError) as error:
        assert error.problems, "an error without a problem"
        assert all(problem.message for problem in error.problems)
        str(error).encode()
        return "refused"
    return "read"


CAMPAIGN = Campaign(mutant, judge, prepare=corpus)
run = CAMPAIGN.run

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main(__doc__))
