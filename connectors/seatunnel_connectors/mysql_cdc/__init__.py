"""Decodes the binary logs of MySQL and MariaDB into Arrow batches: the library of the change data capture sources.

``log`` turns bytes into events, ``rows`` turns events into batches, ``schema`` follows the definitions of tables,
``dump`` talks to the server, and ``changes`` puts them together. The steps that use it are issue 25's sources
``MySQL-CDC`` and ``MariaDB-CDC``: until they exist, only tests and a benchmark reach this package.
"""
