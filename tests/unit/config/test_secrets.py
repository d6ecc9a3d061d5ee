"""Secrets: encrypted, by reference, and never printed."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from pydantic import model_validator

from seatunnel_py.api.options import Secret, SourceOptions, option
from seatunnel_py.config import load, loads, resolve_step
from seatunnel_py.config.shade import cipher
from seatunnel_py.errors import BadRowsError, FatalError, JobFileError, Problem, RetriableError, SeaTunnelError
from seatunnel_py.redaction import MASK, is_sensitive, keep_secret, redacted_text
from seatunnel_py.work.unit import FailureKind, UnitFailure

CANARY = "hunter2canary"


class Login(SourceOptions):
    """A step with secrets."""

    url: str | None = option(None)
    password: Secret | None = option(None)
    port: int = option(1)
    nested: dict[str, str] = option({})


def _job_text(options: str, env: str = "") -> str:
    return f"env {{ {env} }}\nsource {{ S {{\n{options}\n}} }}\nsink {{ B {{}} }}"


def test_encrypted_options_are_decrypted_at_every_level() -> None:
    """But a column that happens to be called password is data."""
    secret = base64.b64encode(CANARY.encode()).decode()
    text = f'password = "{secret}"\nnested.token = "{secret}"\nschema.fields.password = string'

    job = loads(_job_text(text, "shade.identifier = base64"))

    options = job.sources[0].options.plain()
    assert (options["password"], options["nested"]["token"]) == (CANARY, CANARY)
    assert options["schema"]["fields"]["password"] == "string"
    assert cipher("base64").decrypt(cipher("base64").encrypt(CANARY)) == CANARY


def test_a_job_file_may_name_more_options_that_are_encrypted() -> None:
    """``shade.options``, by name or by path, also in lists; they are masked as the usual ones are."""
    secret = base64.b64encode(CANARY.encode()).decode()
    text = f'f1 = "{secret}"\nconfig2.list = ["{secret}", "{secret}"]\nother.list = ["{secret}"]'

    job = loads(_job_text(text, 'shade.identifier = base64, shade.options = ["f1", "config2.list"]'))

    options = job.sources[0].options.plain()
    assert (options["f1"], options["config2"]["list"]) == (CANARY, [CANARY, CANARY])
    assert options["other"]["list"] == [secret]
    assert CANARY not in job.redacted()


@pytest.mark.parametrize(
    "options, env",
    [
        (f'password = "{CANARY}"', ""),
        (f'nested.token = "{CANARY}"', ""),
        (f'url = "postgresql://me:{CANARY}@h/d"', ""),
        (f'url = "jdbc:postgresql://h/d?user=me&password={CANARY}&ssl=true"', ""),
        (f'url = "mysql://me:{CANARY.replace("y", "%79")}@h/d"', ""),
        ('url = "${env:CANARY}"', ""),
        ("", f'checkpoint.location = "s3://key:{CANARY}@bucket/x"'),
        ("", f'spark.hadoop.fs.s3a.secret.key = "{CANARY}"'),
        (f'url = "{CANARY}"', "shade.options = [url]"),
        (f'nested.f1 = "{CANARY}"', "shade.options = [nested.f1]"),
        (f'nested.f1 = "{CANARY}"', "shade.options = [f1]"),
        (f'url = "{base64.b64encode(CANARY.encode()).decode()}"', "shade.identifier = base64, shade.options = [url]"),
    ],
)
def test_what_a_job_keeps_secret_is_masked_whoever_quotes_it(
    options: str, env: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In errors, problems, and failures that workers report (S1)."""
    monkeypatch.setenv("CANARY", CANARY)
    job = loads(_job_text(options, env))
    resolve_step(job.sources[0], Login, secrets=job.secrets)
    said = f"the server did not like {CANARY!r}"

    for shown in (
        str(FatalError(said, said)),
        repr(BadRowsError(said, said)),
        str(pickle.loads(pickle.dumps(RetriableError(said)))),
        str(Problem(said, remedy=said)),
        repr(UnitFailure(FailureKind.FATAL, said, said, trace=said)),
        redacted_text(said),
    ):
        assert CANARY not in shown
        assert "the server did not like '******'" in shown


def test_other_options_and_names_in_the_data_are_no_secrets() -> None:
    """Who reads an error wants to know the user, the table, and the type of a column that is called password."""
    loads(_job_text("schema.fields.password = string\nnested { user = postgres, mode = append }"))

    assert redacted_text("append: no column of type string for postgres") == (
        "append: no column of type string for postgres"
    )


@pytest.mark.parametrize(
    "secret, text, shown",
    [
        ("abc", "abc is not in abcd", "abc is not in abcd"),
        ("postgres", 'org.postgresql.Driver: no database "postgres"', 'org.postgresql.Driver: no database "******"'),
        ("correct-horse", "xcorrect-horsex", "x******x"),
        ("(a+)+$.battery", "at (a+)+$.battery", "at ******"),
    ],
)
def test_short_secrets_are_masked_as_words_and_the_shortest_not_at_all(secret: str, text: str, shown: str) -> None:
    """Masking every "a" would show where it is."""
    keep_secret(["", secret])

    assert redacted_text(text) == shown


def test_a_secret_that_begins_another_hides_nothing_of_it_from_the_mask() -> None:
    keep_secret(["battery-staple"])
    keep_secret(["battery-staple-horse"])

    assert redacted_text("battery-staple-horse and battery-staple") == "****** and ******"


def test_a_text_that_was_shown_before_is_masked_once_its_word_is_a_secret() -> None:
    """Answers are remembered, but not beyond the secrets that were known."""
    text = "the word is battery-staple"
    assert redacted_text(text) == text

    keep_secret(["battery-staple"])

    assert redacted_text(text) == "the word is ******"


AWKWARD = """it's-é"tight/ on"""


@pytest.mark.parametrize(
    "quoted",
    [
        json.dumps(AWKWARD),
        json.dumps(AWKWARD, ensure_ascii=False),
        repr(AWKWARD),
        f"""ERROR: '{AWKWARD.replace("'", "''")}'""",
        f"https://host/{quote(AWKWARD, safe='')}",
        f"https://host/?x={quote_plus(AWKWARD)}",
    ],
)
def test_a_secret_is_masked_however_it_is_escaped(quoted: str) -> None:
    """A rule's message quoted it as JSON: a quote or an accent in it kept it from the mask."""
    keep_secret([AWKWARD])
    assert "tight" not in redacted_text(quoted)
    assert MASK in redacted_text(quoted)


def test_what_cannot_be_decrypted_is_named_but_not_shown() -> None:
    """Every such option at once, with its place."""
    with pytest.raises(JobFileError) as caught:
        loads(
            _job_text(f"password = {CANARY}!\nnested.token = {CANARY}?", "shade.identifier = base64")
            .replace("!", '"!"')
            .replace("?", '"?"')
        )

    assert CANARY not in str(caught.value)
    assert [problem.line for problem in caught.value.problems] == [3, 4]
    with pytest.raises(SeaTunnelError, match="no cipher 'rot13'"):
        cipher("rot13")


def test_ciphers_come_from_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that offers one is enough; its own sensitive options are decrypted as well."""
    (tmp_path / "reversing.py").write_text(
        "class Reversing:\n"
        "    identifier = 'reversing'\n"
        "    sensitive_options = ('pin',)\n"
        "    def open(self, properties): self.kept = int(properties.get('kept', 0))\n"
        "    def encrypt(self, text): return text[: self.kept] + text[self.kept :][::-1]\n"
        "    decrypt = encrypt\n"
    )
    information = tmp_path / "reversing-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: reversing\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[seatunnel_py.secrets]\nreversing = reversing:Reversing\n")
    monkeypatch.syspath_prepend(tmp_path)

    job = loads(_job_text("password = abc\npin = 321\nother = abc", "shade.identifier = reversing"))

    assert job.sources[0].options.plain() == {"password": "cba", "pin": "123", "other": "abc"}

    job = loads(_job_text("password = abc", "shade { identifier = reversing, properties.kept = 1 }"))
    assert job.sources[0].options.plain() == {"password": "acb"}


def test_secrets_by_reference(tmp_path: Path) -> None:
    """From the environment and from files beside the job file or in SEATUNNEL_SECRETS_DIR, each in its place."""
    outside = tmp_path / "secrets"
    root = tmp_path / "job"
    outside.mkdir()
    root.mkdir()
    (outside / "far").write_text(CANARY + "\n")
    (root / "near").write_text("near\n")
    path = root / "job.conf"
    path.write_text(_job_text(f'password = ${{env:PW}}\nurl = "x${{file:near}}y"\nnested.a = ${{file:{outside}/far}}'))

    job = load(path, environment={"PW": CANARY, "SEATUNNEL_SECRETS_DIR": str(outside)})
    options, problems, _ = resolve_step(job.sources[0], Login, secrets=job.secrets)

    assert not problems and options is not None and options.password is not None
    assert options.password.get_secret_value() == CANARY
    assert (options.url, options.nested) == ("xneary", {"a": CANARY})
    assert CANARY not in job.redacted() + repr(job)
    unresolved, _, _ = resolve_step(job.sources[0], Login)
    assert unresolved is not None and unresolved.url == "x${file:near}y"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("${env:NONE}", "environment variable 'NONE' is not set"),
        ("${file:/etc/hostname}", "outside"),
        ("${file:../x}", "outside"),
        ("${file:none}", "cannot be read"),
        ("${file:large}", "larger"),
        ("${file:binary}", "not UTF-8"),
        ("${file:link}", "outside"),
    ],
)
def test_references_that_are_refused(tmp_path: Path, reference: str, message: str) -> None:
    """Named with place and path, never with a content."""
    root = tmp_path / "job"
    root.mkdir()
    (tmp_path / "x").write_text(CANARY)
    (root / "link").symlink_to(tmp_path / "x")
    (root / "large").write_bytes(b"x" * 100_000)
    (root / "binary").write_bytes(b"\xff\xfe")
    (root / "job.conf").write_text(_job_text(f'password = "{reference}"'))

    job = load(root / "job.conf", environment={})
    options, problems, _ = resolve_step(job.sources[0], Login, secrets=job.secrets)

    assert options is None
    assert [(problem.path, problem.line) for problem in problems] == [("source[0].S.password", 3)]
    assert message in problems[0].message
    assert CANARY not in str(problems)


@pytest.mark.parametrize(
    "options",
    [
        f"password = {CANARY}",
        f"passwordd = {CANARY}",
        f"password = [{CANARY}]",
        f"password {{ x = {CANARY} }}",
        f"port = {CANARY}",
        f'url = "jdbc:x://user:{CANARY}@host/db?password={CANARY}&a=1"',
        f"nested.api_key = {CANARY}",
        f"nested {{ fs.s3a.secret.key = {CANARY} }}",
        'port = "${env:PW}"',
    ],
)
def test_a_secret_is_in_no_error_no_repr_and_no_rendering(options: str) -> None:
    """Whatever is wrong with the option that holds it."""
    job = loads(_job_text(options), environment={"PW": CANARY})
    login, problems, notes = resolve_step(job.sources[0], Login, secrets=job.secrets)

    shown = [
        repr(login),
        str(login),
        str(problems),
        "\n".join(map(str, problems)),
        str(notes),
        repr(job),
        repr(job.steps),
    ]
    assert CANARY not in "".join(shown)
    assert CANARY not in job.redacted() or options.startswith("port")


class Boastful(Login):
    """A plugin of somebody else, whose rule repeats what was given."""

    @model_validator(mode="after")
    def _told(self) -> Boastful:
        secret = "" if self.password is None else self.password.get_secret_value()
        raise ValueError(f"expected two words, not {secret} at all")


@pytest.mark.parametrize("password", [CANARY, "x", "xyz", "e"])
def test_a_rule_that_repeats_a_secret_is_not_quoted(password: str) -> None:
    """However short it is, where it stands by itself."""
    job = loads(_job_text(f"password = {password}"))
    _, problems, _ = resolve_step(job.sources[0], Boastful, secrets=job.secrets)

    [problem] = problems
    assert problem.message == "not valid; the reason is withheld, for it would show a secret"


@pytest.mark.parametrize("name", ["x", "pe"])
def test_a_short_secret_inside_of_a_word_withholds_nothing(name: str) -> None:
    """``user = x`` does not hide that something was "expected"."""
    job = loads(_job_text(f"nested.user = {name}"))
    _, problems, _ = resolve_step(job.sources[0], Boastful, secrets=job.secrets)

    [problem] = problems
    assert problem.message == "expected two words, not  at all"


def test_the_rendering_runs_like_the_file() -> None:
    """It is JSON in the list form, with what is not secret unchanged and repeated plugins in order."""
    job = loads(
        _job_text("password = x\nsplit.size = 1.10\nsql = a", "job.mode = STREAMING") + "\nsource { S { n = 2 } }"
    )

    again = loads(job.redacted(), file="job.json")

    assert [step.plugin for step in again.steps] == ["S", "S", "B"]
    assert again.sources[0].options.plain() == {"password": "******", "split": {"size": 1.1}, "sql": "a"}
    assert again.redacted() == job.redacted()
    assert again.digest == job.digest


def test_the_digest_follows_the_meaning_and_not_the_spelling() -> None:
    """Comments, layout and secrets leave it; a changed option does not."""
    one = loads(_job_text("a.b = 1, password = x"))
    same = loads("# note\n" + _job_text("a { b = 1 }\n password = y"))
    other = loads(_job_text("a.b = 2, password = x"))

    assert one.digest == same.digest != other.digest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jdbc:postgresql://u:p@h:5432/d", "jdbc:postgresql://******@h:5432/d"),
        ("http://h/?token=abc&x=1", "http://h/?token=******&x=1"),
        ("jdbc:sqlserver://h;user=sa;password=a b;x=1", "jdbc:sqlserver://h;user=******;password=****** b;x=1"),
        ("nothing here", "nothing here"),
    ],
)
def test_addresses_lose_their_secrets(text: str, expected: str) -> None:
    """User-info and secret parameters, in whatever text they stand."""
    assert redacted_text(text) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("password", "db_password", "ssl.key.password", "auth", "secret_key", "username")),
        *((name, True) for name in ("accessKeyId", "session_token", "api_key", "fs.s3a.secret.key")),
        ("fs.s3a.aws.credentials.provider", False),
        *((name, False) for name in ("primary_key", "author", "table", "key", "tokenizer")),
    ],
)
def test_names_of_secrets(name: str, expected: bool) -> None:
    """What may hold one, and what only sounds alike."""
    assert is_sensitive(name) is expected
