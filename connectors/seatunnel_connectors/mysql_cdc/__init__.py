"""Change data capture from MySQL and MariaDB: copies tables, then follows the binary log.

``log`` turns bytes into events, ``rows`` turns events into batches, ``schema`` follows the definitions of tables,
``dump`` talks to the server, and ``reading`` puts them together. ``source``, ``copy``, ``log_enumerator`` and
``reader`` make the sources MySQL-CDC and MariaDB-CDC of them, which are the same but for their names.
"""
