"""``seatunnel changes``: changes of a stopped job, whose store is real: shown, decided, and ruled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import STRING, Column, Position, SourceTable, TablePath, TableSchema
from seatunnel_py.cli.main import main
from seatunnel_py.jobs import driver_question
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology, Vertex
from seatunnel_py.runtime.control import start_requests
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind, RequestStore
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.targets.held_change import HeldChange
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.work.schema_alteration import SchemaAlteration

TABLES = ("orders", "lines", "customers")


def table(name: str, *columns: str) -> SourceTable:
    path = TablePath("shop", "public", name)
    return SourceTable(TableSchema(path, tuple(Column(one, STRING) for one in ("id", *columns))))


def held(name: str, end: int) -> HeldChange:
    change = SchemaAlteration(table(name, "more"), statement="ADD COLUMN more text")
    return HeldChange(table(name), change, Position({"end": end}), (f"{name} has changed", "decide"), 12, {})


def stop(place: JobDirectory) -> None:
    """Let another process take the job."""
    place.gave_up("it was killed", changed=True)
    place.release()


@dataclass
class Shop:
    """A stopped job with two changes that wait."""

    path: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    waiting: tuple[HeldChange, HeldChange]
    record: CheckpointRecord

    def told(self, *words: str, code: int = 0) -> str:
        """The output of `seatunnel changes`, which ends with this exit code."""
        self.monkeypatch.setattr("sys.argv", ["seatunnel", "changes", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        found = self.capsys.readouterr()
        assert (ended.value.code or 0) == code, found
        return found.out + found.err

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.told(*words, "--json", code=code))

    @property
    def asked(self) -> list[ControlRequest]:
        return list(RequestStore(LocalStorage(self.path)).open())

    def start(self) -> None:
        """Perform the decisions that wait, as the next start of the job does."""
        store, storage = RequestStore(LocalStorage(self.path)), LocalStorage(self.path / "checkpoints")
        owner, lineage = CheckpointStore(storage).owner()
        assert CheckpointStore(storage).take(owner + 1, lineage)
        journal = JournalFile(storage, owner + 1)
        for number, request in enumerate(sorted(store.open(), key=lambda one: one.wish is RequestKind.REMOVE_RULE)):
            answer, lines = start_requests.decided(request, journal.journal, {"log": self.record}, 1000.0 + number)
            journal.append(lines)
            for line in lines:
                journal.journal.apply(line)
            store.answer(answer)
        journal.close()

    def rule(self, *words: str) -> str:
        """Add a rule; return its name."""
        answer = self.json("rule", "shop", "add", *words)
        (asked,) = (one for one in self.asked if one.id in answer["text"])
        return asked.id


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path))
    monkeypatch.setattr(driver_question, "TAKEOVER_SECONDS", 0.0)
    place = Home.of_environment().claim("shop", fresh=False, about={"job_file": "shop.conf"})
    waiting = held("orders", 7), held("lines", 8)
    tables = {one.schema.path: one for one in map(table, TABLES)}
    prepared = PreparedPipeline({}, {}, tables=tables, held={one.path: one for one in waiting})
    topology = Topology((Vertex("a"),))
    record = CheckpointRecord(15, 1, RecordKind.PERIODIC, 14, topology, {}, {}, plan=prepared.to_plain())
    store = CheckpointStore(LocalStorage(place.checkpoints))
    assert store.take(1, "lineage")
    store.claim(1, {"log": Claim(1)})
    JournalFile(store.storage, 1).close()
    store.write(1, {"log": record})
    stop(place)
    yield Shop(place.path, capsys, monkeypatch, waiting, record)


def test_a_job_without_changes_has_none(shop: Shop, tmp_path: Path) -> None:
    stop(Home.of_environment().claim("other", fresh=False, about={}))
    assert shop.json("list", "other") == []
    assert "no change of a schema waits in the job 'other'" in shop.told("list", "other")
    assert shop.json("rule", "other", "list") == []
    assert "no rule decides" in shop.told("rule", "other", "list")
    assert "there is no job 'shp'" in shop.told("list", "shp", code=1)


def test_changes_that_wait_are_listed_and_shown(shop: Shop) -> None:
    orders, lines = shop.waiting
    found = shop.json("list", "shop")
    assert [(one["change"], one["table"], one["waits"], one["since_checkpoint"], one["verdict"]) for one in found] == [
        (orders.id, "shop.public.orders", True, 12, None), (lines.id, "shop.public.lines", True, 12, None),
    ]  # fmt: skip
    text = shop.told("list", "shop")
    assert f"{orders.id}  shop.public.orders  ADD COLUMN more text\n  waits since checkpoint 12\n" in text
    assert shop.json("show", "shop", lines.id) == found[1]
    shown = shop.told("show", "shop", lines.id)
    assert "why: lines has changed" in shown
    assert "remedy: decide" in shown


@pytest.mark.parametrize("words", [("show",), ("approve",), ("reject",)])
def test_an_unknown_id_names_the_nearest(shop: Shop, words: tuple[str, ...]) -> None:
    near = shop.waiting[0].id
    told = shop.told(*words, "shop", near[:-1], code=1)
    assert f"no change {near[:-1]!r} waits for a decision" in told
    assert f"did you mean {near}?" in told
    refused = shop.json(*words, "shop", "zzz", code=1)
    assert refused["state"] == "FAILED"
    assert "these wait" in str(refused)
    assert shop.asked == []


@pytest.mark.parametrize(("word", "state"), [("approve", "approved"), ("reject", "rejected")])
def test_a_decision_waits_for_the_next_start(shop: Shop, word: str, state: str) -> None:
    """It is shown with person, time and checkpoint from then on, and not before."""
    name = shop.waiting[0].id
    told = shop.told(word, "shop", name, "--by", "anna")
    assert f"{name}: {state}" in told
    assert "at the next start of the job" in told
    (asked,) = shop.asked
    assert (asked.wish.value, asked.name, asked.by) == (word, name, "anna")
    assert shop.json("list", "shop")[0]["verdict"] is None
    shop.start()
    found = next(one for one in shop.json("list", "shop") if one["change"] == name)
    assert (found["verdict"], found["by"], found["at"], found["checkpoint"]) == (word, "anna", 1000.0, 15)
    assert f"{state} by anna at " in shop.told("show", "shop", name)
    assert shop.asked == []


def test_a_decision_has_a_person_also_without_the_option(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "berta")
    assert shop.json("approve", "shop", shop.waiting[0].id)["done"] is True
    assert shop.asked[0].by.startswith("berta@")


def test_a_rule_is_listed_before_and_after_the_next_start(shop: Shop) -> None:
    words = "--table", r"shop\.public\.(orders|lines)", "--kind", "ADD.COLUMN", "--kind", "drop.column", "--reject"
    name = shop.rule(*words, "--by", "anna")
    plain = {"rule": name, "table": words[1], "kinds": ["add.column", "drop.column"], "verdict": "reject", "by": "anna"}
    assert shop.json("rule", "shop", "list") == [{**plain, "at": None}]
    assert "by anna, at the next start of the job" in shop.told("rule", "shop", "list")
    shop.start()
    assert shop.json("rule", "shop", "list") == [{**plain, "at": 1000.0}]
    text = shop.told("rule", "shop", "list")
    assert f"{name}  rejects add.column, drop.column of {words[1]}\n  by anna, since " in text


def test_a_rule_is_removed_whatever_is_performed_first(shop: Shop) -> None:
    rules = [shop.rule("--table", ".*", "--kind", "add.column", "--approve") for _ in range(3)]
    told = shop.told("rule", "shop", "remove", rules[0][:-1], code=1)
    assert f"did you mean {rules[0]}?" in told
    assert "at the next start" in shop.told("rule", "shop", "remove", rules[0], "--by", "berta")
    assert {one["rule"] for one in shop.json("rule", "shop", "list")} == set(rules[1:])
    shop.start()
    assert {one["rule"] for one in shop.json("rule", "shop", "list")} == set(rules[1:])
    assert f"there is no rule {rules[0]!r}" in shop.told("rule", "shop", "remove", rules[0], code=1)
    shop.told("rule", "shop", "remove", rules[1])
    shop.start()
    assert [one["rule"] for one in shop.json("rule", "shop", "list")] == rules[2:]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--table", "shop.public.order", "--kind", "add.column", "--approve"), "nearest table is shop.public.orders"),
        (("--table", ".*", "--kind", "add.colum", "--approve"), "did you mean add.column?"),
        (("--table", ".*", "--kind", "zzz", "--approve"), "use add.column, drop.column"),
        (("--table", "a(", "--kind", "add.column", "--approve"), "correct the regular expression"),
        (("--table", ".*", "--kind", "add.column"), "add --approve or --reject"),
    ],
)
def test_a_rule_that_would_decide_nothing_is_refused(shop: Shop, words: tuple[str, ...], said: str) -> None:
    assert said in shop.told("rule", "shop", "add", *words, code=1)
    assert said in str(shop.json("rule", "shop", "add", *words, code=1))
    assert shop.asked == []


def test_a_request_of_another_version_is_refused(shop: Shop) -> None:
    store = RequestStore(LocalStorage(shop.path))
    store.ask(ControlRequest("r", RequestKind.ADD_RULE, "", "", (".*",), rule={"kinds": ["a.b"], "approves": True}))
    shop.start()
    answer = store.answered("r")
    assert answer is not None and not answer.done
    assert "not known to this version" in answer.text
