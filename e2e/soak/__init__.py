"""The soak: a streaming job that runs for long on a cluster while everything under it is killed, one after the other.

Rules. (1) One job, four tables, every exactly-once recipe of a stream; its rows are compared one by one at the end.
(2) Who dies, and when, follows from the seed. What a cluster, a server's operator or a service manager would start again
is started again; nothing else is helped. (3) The driver dies in the first two fifths only: one long life of it is left, whose
memory can be looked at over the second half. Its JVM's heap is bounded, so that its growth means something. (4) Behind
the last kill the job is stopped with a savepoint and lives once more, undisturbed; then it is stopped for good, and nothing
may be left that a job which stands still does not need. What Spark's own daemons keep of an application (its logs, and
what lies beside them) is theirs to remove.
"""
