"""Removes staged files of a job's earlier runs when the job restarts from scratch.

A run is known by its mark, which the last commit removes. The mark does not name the lineage, and the directories of
lineages do not name the job. If another job has a mark for the same step and table, nothing is removed: the directories
may belong to that job.
"""

from __future__ import annotations

from pathlib import Path

from seatunnel_connectors.files.write.directory_mark import DirectoryMark, Owner
from seatunnel_connectors.files.write.file_names import UnitNames
from seatunnel_connectors.files.write.writer import WritePlan
from seatunnel_py.api import CommitContext, counted


def sweep(plan: WritePlan, mark: DirectoryMark, context: CommitContext) -> list[str]:
    """Return sentences for the receipt: what was removed, and what stays visible. ``mark`` belongs to the run that
    begins."""
    me = Owner(context.job_id, context.step, str(plan.table.path))
    there = [(one, one.owner) for one in mark.others()]
    mine = [one for one, owner in there if owner == me]
    rivals = sorted({owner.job for _, owner in there if owner.job != me.job and owner.step == me.step
                     and owner.table == me.table})  # fmt: skip
    if not mine:
        return []
    if rivals:
        return [f"files that earlier runs have staged below {plan.staging} stay: job {rivals[0]} writes there too"]
    scopes = _scopes(plan, context)
    removed = sum(_remove(plan, lineage, scope) for lineage, scope in scopes)
    for one in mine:
        one.remove()
    said = [f"removed {counted(removed, 'staged file')} of earlier runs"] if removed else []
    names = {scope[:6] for _, scope in scopes}
    visible = [one for one in _names(plan) if any(name in one for name in names)]
    if visible and context.setup.get("action") != "drop":
        said.append(
            f"{counted(len(visible), 'file')} of earlier runs of this job, {visible[0]} among "
            f"them, are visible in {plan.root} and stay: if their rows must not be there twice, stop this run, delete "
            f"them ({' '.join(f'rm {plan.root}/*{name}*' for name in sorted(names))}), and begin with --fresh again"
        )
    return said


def _scopes(plan: WritePlan, context: CommitContext) -> list[tuple[str, str]]:
    """Lineages with staged files of this step and table, and the names of their directories."""
    storage, found = plan.storage, []
    for lineage in storage.names(plan.staging) if storage.is_directory(plan.staging) else []:
        scope = UnitNames(context.job_id, lineage, context.step, plan.table.path, "").scope
        if lineage != context.lineage and storage.is_directory(plan.scope_directory(lineage, scope)):
            found.append((lineage, scope))
    return found


def _remove(plan: WritePlan, lineage: str, scope: str) -> int:
    place = plan.scope_directory(lineage, scope)
    count = sum(1 for one in plan.storage.files(place) if one.path.endswith((".part", ".arrow")))
    plan.storage.delete_tree(place)
    plan.storage.delete_empty(str(Path(place).parent))
    return count


def _names(plan: WritePlan) -> list[str]:
    storage, hidden = plan.storage, Path(plan.staging)
    files = storage.files(plan.root) if storage.is_directory(plan.root) else ()
    return sorted(Path(one.path).name for one in files if hidden not in Path(one.path).parents)
