"""Exactly once into a real broker: what is committed appears once, whole and in order, whatever is repeated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from seatunnel_connectors.kafka.sink.committer import KafkaCommitter
from seatunnel_py.api import CannotResumeError, FatalError
from tests.connectors.kafka.sink_support import Job, create, records, rows, splits, whole
from tests.connectors.kafka.topics import admin_of
from tests.servers.kafka import KafkaServer


@pytest.fixture
def job(kafka: KafkaServer, topic: str, tmp_path: Path) -> Job:
    return Job(kafka.dsn, topic, tmp_path / "staged", lineage=topic).started()


def test_nothing_is_seen_before_its_commit_and_all_of_it_after(job: Job) -> None:
    first = job.stage("0@0", rows(0, 0, 1000), rows(0, 1000, 500))
    second = job.stage("1@0", rows(1, 0, 10))
    assert records(job.bootstrap, job.topic) == []

    job.commit(1, first, second)

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(1500)), (1, range(10)))
    assert job.staged_files() == []


def test_commits_follow_one_another_in_order(job: Job) -> None:
    for checkpoint in range(1, 6):
        job.commit(checkpoint, job.stage(f"0@{checkpoint}", rows(0, (checkpoint - 1) * 10, 10)))

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(50)))


def test_a_commit_that_is_repeated_changes_nothing(job: Job) -> None:
    """By the same driver and by the next one, also when the files are gone."""
    piece = job.stage("0@0", rows(0, 0, 100))
    job.commit(1, piece)

    job.commit(1, piece)
    after = job.restarted()
    assert after.recover(1) == 1
    after.commit(1, piece)

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(100)))


def test_a_staged_file_that_is_gone_is_lost_and_not_done(job: Job) -> None:
    """I31: absence is never taken for success; nothing of the checkpoint appears."""
    kept, gone = job.stage("0@0", rows(0, 0, 100)), job.stage("1@0", rows(1, 0, 100))
    next(job.staging.rglob(str(gone.data["file"]))).unlink()

    with pytest.raises(FatalError, match="LOST"):
        job.commit(1, kept, gone)

    assert records(job.bootstrap, job.topic) == []
    assert job.recover(1) is None


def test_a_damaged_file_commits_nothing(job: Job) -> None:
    piece = job.stage("0@0", rows(0, 0, 5000))
    file = next(job.staging.rglob(str(piece.data["file"])))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    with pytest.raises(FatalError, match="LOST"):
        job.commit(1, piece)

    assert records(job.bootstrap, job.topic) == []


def test_an_older_driver_is_fenced_off(job: Job) -> None:
    """I34: whoever was overtaken commits nothing any more, and disturbs nobody (finding 4)."""
    late = job.stage("0@0", rows(0, 0, 10))
    job.commit(1, job.stage("1@0", rows(1, 0, 10)))
    newer = job.restarted()
    assert newer.recover(1) == 1

    with pytest.raises(FatalError, match="newer run"):
        job.commit(2, late)
    newer.commit(2, newer.stage("2@0", rows(2, 0, 10)))

    assert splits(records(job.bootstrap, job.topic)) == whole((1, range(10)), (2, range(10)))


def test_a_cluster_that_remembers_another_lineage_refuses_with_both_places(job: Job, tmp_path: Path) -> None:
    job.commit(7, job.stage("0@0", rows(0, 0, 10)))
    other = Job(job.bootstrap, job.topic, tmp_path / "elsewhere", lineage="another").started()

    with pytest.raises(FatalError, match="another lineage") as refused:
        other.commit(1, other.stage("0@0", rows(0, 0, 10)))

    assert job.staging.as_uri() in str(refused.value) and other.staging.as_uri() in str(refused.value)
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(10)))


def test_a_job_that_is_begun_anew_is_told_of_its_other_lineage(job: Job, tmp_path: Path) -> None:
    """Before it reads a row; with --fresh the other one is forgotten, and its driver fenced off."""
    late = job.stage("1@0", rows(1, 0, 10))
    job.commit(7, job.stage("0@0", rows(0, 0, 10)))
    other = Job(job.bootstrap, job.topic, tmp_path / "elsewhere", lineage=f"{job.lineage}-2").started()
    committer, context = other.sink.committer(), other.context(0)

    assert committer.begin(context, fresh=False) == job.lineage
    assert committer.begin(context, fresh=True) is None
    other.commit(1, other.stage("2@0", rows(2, 0, 10)))

    with pytest.raises(FatalError, match="started again with --fresh"):
        job.commit(8, late)
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(10)), (2, range(10)))


def test_a_lineage_that_has_finished_is_in_nobodys_way(job: Job, tmp_path: Path) -> None:
    job.commit(1, job.stage("0@0", rows(0, 0, 10)), final=True)
    again = Job(job.bootstrap, job.topic, tmp_path / "elsewhere", lineage=f"{job.lineage}-2").started()

    again.commit(1, again.stage("0@0", rows(1, 0, 10)), final=True)

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(10)), (1, range(10)))


def test_other_rows_under_the_same_checkpoint_are_an_alarm(job: Job) -> None:
    job.commit(1, job.stage("0@0", rows(0, 0, 10)))

    with pytest.raises(FatalError, match="other rows under checkpoint 1"):
        job.commit(1, job.stage("0@0", rows(0, 0, 11)))


def test_orphans_go_and_what_may_still_be_named_stays(job: Job) -> None:
    """I33: an earlier attempt at rows that were committed, and everything of older drivers, once this one commits."""
    orphan = job.stage("0@0", rows(0, 0, 10))
    taken = job.stage("0@0", rows(0, 0, 10), attempt=1)
    coming = job.stage("0@10", rows(0, 10, 10))
    job.commit(1, taken)
    assert job.staged_files() == [coming.data["file"]]
    assert orphan.data["file"] not in job.staged_files()

    newer = job.restarted()
    newer.recover(1)
    named = newer.stage("0@20", rows(0, 10, 10))
    newer.commit(2, named)

    assert job.staged_files() == []
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(20)))


def test_a_job_that_is_given_up_leaves_nothing(job: Job) -> None:
    job.stage("0@0", rows(0, 0, 10))
    piece = job.stage("1@0", rows(1, 0, 10))

    job.sink.committer().abort([piece], job.context(1, final=True))

    assert job.staged_files() == []
    assert records(job.bootstrap, job.topic) == []


def test_the_last_commit_without_rows_ends_the_lineage(job: Job) -> None:
    job.commit(1, final=True)

    assert job.recover(1) == 1
    assert list(job.staging.rglob("*.arrow")) == []


def test_rows_of_one_split_keep_their_order_in_each_partition(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    """With a key all rows of a split have one partition, the one that Java's clients choose."""
    create(kafka.dsn, topic, partitions=3)
    job = Job(kafka.dsn, topic, tmp_path, lineage=topic, options={"partition_key_fields": ["split"]}).started()

    for checkpoint in (1, 2):
        first = (checkpoint - 1) * 3000
        job.commit(checkpoint, *(job.stage(f"{n}@{first}", rows(n, first, 3000)) for n in range(5)))

    found = records(kafka.dsn, topic)
    assert splits(found) == whole(*((n, range(6000)) for n in range(5)))
    partition_of: dict[int, set[int]] = {}
    for record in found:
        partition_of.setdefault(record.document["split"], set()).add(record.partition)
    assert all(len(partitions) == 1 for partitions in partition_of.values())


def test_lineages_that_ended_long_ago_are_swept(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    """As long ago as `ledger.retention` says, and no other: one that has not ended may come back after years."""
    told = {"ledger.topic": f"{topic}-ledger"}
    ended, waiting, newest = (
        Job(kafka.dsn, topic, tmp_path / name, lineage=name, job_id=topic, options=told).started()
        for name in ("ended", "waiting", "newest")
    )
    ended.commit(1, ended.stage("0@0", rows(0, 0, 1)), final=True)
    waiting.recover(1)
    newest.commit(1, newest.stage("0@0", rows(1, 0, 1)), final=True)
    newest.lineage_ended(keep_days=1)
    assert not [record for record in records(kafka.dsn, f"{topic}-ledger") if record.key and not record.value]
    newest.lineage_ended(keep_days=-1)

    left = {
        record.key.split(b'"')[3] for record in records(kafka.dsn, f"{topic}-ledger") if record.key and record.value
    }
    gone = {
        record.key.split(b'"')[3] for record in records(kafka.dsn, f"{topic}-ledger") if record.key and not record.value
    }
    assert gone == {b"ended"}
    assert {b"waiting", b"newest"} <= left


def test_the_ledger_that_would_forget_is_refused(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    create(kafka.dsn, f"{topic}-ledger")
    job = Job(kafka.dsn, topic, tmp_path, options={"ledger.topic": f"{topic}-ledger"})

    with pytest.raises(FatalError, match="cleanup.policy = delete"):
        job.started()


def test_a_topic_that_is_made_anew_in_the_run_is_lost(job: Job) -> None:
    """P4-F6: the run went on, and said SUCCESS with the records of later checkpoints only."""
    job.commit(1, job.stage("0@0", rows(0, 0, 10)))
    piece = job.stage("0@10", rows(0, 10, 10))
    admin_of(job.bootstrap).delete_topics([job.topic])[job.topic].result(30)
    create(job.bootstrap, job.topic)

    for _ in range(2):
        with pytest.raises(CannotResumeError, match="LOST: .* the topic was deleted and created again during the run"):
            job.commit(2, piece, final=True)

    assert records(job.bootstrap, job.topic) == []
    assert job.recover(1) == 1


def test_what_an_older_version_has_committed_goes_on(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ledger does not know the topic's id."""
    with monkeypatch.context() as older:
        older.setattr(KafkaCommitter, "_topic_id", lambda self: "")
        job.commit(1, job.stage("0@0", rows(0, 0, 10)))

    job.commit(2, job.stage("0@10", rows(0, 10, 10)), final=True)

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(20)))


@pytest.mark.parametrize("committed", [False, True])
def test_files_that_earlier_runs_have_staged_are_removed(job: Job, committed: bool) -> None:
    """P4-F7: by `--fresh`, which says what stays visible."""
    if committed:
        job.commit(1, job.stage("0@0", rows(0, 0, 10)))
    job.stage("0@10", rows(0, 10, 10))
    job.stage("0@20", rows(0, 20, 10))
    new = replace(job, lineage=f"{job.lineage}-2")
    mine = new.stage("0@0", rows(0, 0, 5))

    said = list(new.sink.committer().sweep(new.context(0)))

    assert said[0] == "removed 2 staged files of earlier runs"
    assert ["are in topic" in one and "stay visible" in one for one in said[1:]] == ([True] if committed else [])
    assert new.staged_files() == [mine.data["file"]]
    assert new.sink.committer().begin(new.context(0), fresh=True) is None
    assert list(new.sink.committer().sweep(new.context(0))) == []
