"""Jobs that an older commit began and left: killed in the middle, stopped behind a savepoint, with bad rows set aside.

`make.py` makes them by that commit's own command line; `COMMIT.tar.xz` keeps their homes and targets.
"""
