"""Lists the failpoints of database sinks, one list for each recipe.

The author of a sink writes such a list for its own commit: ``RECIPE.commit.before``, ``.inside`` (if the target can
fail between its rows and its ledger) and ``.after``. A contract test requires them, and the crash sweep kills there.
"""

from __future__ import annotations

from seatunnel_py.api import failpoint

POSTGRES_WRITTEN = failpoint("postgres.unit.written", "A unit's rows are with the server, its transaction is open.")
POSTGRES_UNIT = failpoint(
    "postgres.unit.committed", "A unit's transaction is committed; its worker has not reported it yet."
)
POSTGRES_BEFORE = failpoint("postgres.commit.before", "Nothing of the commit has reached the server.")
POSTGRES_INSIDE = failpoint("postgres.commit.inside", "All is done but COMMIT: rows and ledger are in one transaction.")
POSTGRES_AFTER = failpoint("postgres.commit.after", "The server has committed; the driver has not reported it yet.")
POSTGRES_FENCED = failpoint("postgres.recover.fenced", "The target knows this incarnation; older ones are refused.")

STATEMENTS_WRITTEN = failpoint("statements.unit.written", "A unit's rows and its record are there, but not COMMIT.")
STATEMENTS_UNIT = failpoint("statements.unit.committed", "A unit's transaction is committed; this is not reported yet.")
STATEMENTS_BEFORE = failpoint("statements.commit.before", "Nothing of the commit has reached the database.")
STATEMENTS_INSIDE = failpoint("statements.commit.inside", "The ledger is written, but not COMMIT.")
STATEMENTS_AFTER = failpoint(
    "statements.commit.after", "The database has committed; the driver has not reported it yet."
)
STATEMENTS_FENCED = failpoint("statements.recover.fenced", "The target knows this incarnation.")

MYSQL_BEFORE = failpoint("mysql.commit.before", "Nothing of the renaming has reached the server.")
MYSQL_COMMENTED = failpoint(
    "mysql.commit.commented", "The shadow's comment has the run's mark; the shadow still has its own name."
)
MYSQL_RENAMED = failpoint("mysql.commit.renamed", "The shadow has the target's name; the ledger does not know.")
MYSQL_INSIDE = failpoint("mysql.commit.inside", "The shadow is the target, the ledger is written, but not COMMIT.")
MYSQL_AFTER = failpoint("mysql.commit.after", "The ledger has committed; the old table is there, the comment too.")
MYSQL_DROPPED = failpoint(
    "mysql.commit.dropped", "The old table is dropped; the comment of the new one still has the run's mark."
)
