"""The crash sweep: every failpoint x recipe x what is killed, on real servers and a real Spark.

``python -m e2e.crash_sweep`` starts jobs through the public command line, kills something at a named moment, goes on
with the same command until the job is done, and looks at every row: none lost, none there twice, in order, nothing left
behind. ``cases.py`` says what is killed where, ``recipes.py`` what runs, ``judge.py`` what counts as a violation.
"""
