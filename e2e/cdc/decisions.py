"""The changes of schemas that wait in a job, and the decisions about them, through the command line."""

from __future__ import annotations

import json
from typing import Any

from e2e.cdc.following_job import SECONDS, FollowingJob
from e2e.support import seatunnel, wait_for


def changes(followed: FollowingJob) -> list[dict[str, Any]]:
    shown = seatunnel(followed.home, "changes", "list", "job", "--json")
    assert shown.code == 0, shown
    found: list[dict[str, Any]] = json.loads(shown.out)
    return found


def waiting(followed: FollowingJob) -> list[str]:
    """The changes that wait; one with a decision does so until a checkpoint holds its effect."""
    return [one["change"] for one in changes(followed) if one["waits"]]


def wait_waiting(followed: FollowingJob, number: int = 1) -> list[str]:
    """Wait for so many changes without a decision."""
    found: list[str] = []

    def look() -> bool:
        found[:] = (one["change"] for one in changes(followed) if one["waits"] and one["verdict"] is None)
        return len(found) == number

    wait_for(f"{number} changes to wait", look, SECONDS)
    return found


def decide(followed: FollowingJob, verdict: str, change_id: str) -> None:
    done = seatunnel(followed.home, "changes", verdict, "job", change_id, "--by", "anna")
    assert done.code == 0, done


def rules(followed: FollowingJob) -> list[dict[str, Any]]:
    shown = seatunnel(followed.home, "changes", "rule", "job", "list", "--json")
    assert shown.code == 0, shown
    found: list[dict[str, Any]] = json.loads(shown.out)
    return found


def add_rule(followed: FollowingJob, verdict: str, *kinds: str, table: str = r".*\.orders") -> str:
    """Add a rule; return its name."""
    known = {one["rule"] for one in rules(followed)}
    words = [word for kind in kinds for word in ("--kind", kind)]
    done = seatunnel(
        followed.home, "changes", "rule", "job", "add", "--table", table, *words, f"--{verdict}", "--by", "anna"
    )
    assert done.code == 0, done
    (name,) = (one["rule"] for one in rules(followed) if one["rule"] not in known)
    return str(name)


def deciders(followed: FollowingJob) -> list[tuple[str | None, str | None]]:
    """The verdict about each change, and the person or rule that has decided."""
    return [(one["verdict"], one["by"]) for one in changes(followed)]
