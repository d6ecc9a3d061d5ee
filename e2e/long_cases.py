"""Names the further cases of end-to-end tests, which run in `make test-long` only.

Each is another seed, sink, moment or server of a property that a case of the same test, or of its neighbour, shows in
`make test` as well.
"""

from __future__ import annotations

import re

_LONG = (
    # other seeds
    r"cdc/.*killed.*\[[23]\b",
    r"cdc/.*killed.*\[1-by key\]",
    r"cdc/test_bounded_\w+\.py::test_a_killed_run_is_finished_by_the_next_one\[(-?[12]|, is_exactly_once = true-[02])\]",
    r"cdc/test_postgres_cdc\.py::test_rows_that_are_appended_arrive_once\[2\]",
    r"cdc/test_tables_added\.py::test_(rows_of_an_added|tables_are_exchanged)\w+\[2\]",
    r"test_killed_driver\.py::test_a_fan_out\[2\]",
    r"test_(back_pressure|living_drivers|terminal)\.py::.*\[False\]",
    r"test_removal\.py::test_a_removal_that_is_killed\w+\[early\]",
    # other sinks
    r"cdc/test_(keeper_killed|table_refresh|table_reset|repair|promotion_mariadb|schema_policies)\.py::.*\[by key\]",
    r"cdc/test_(decided_changes|bounded_postgres_cdc)\.py::.*\[by key\]",
    r"cdc/test_schema_changes_elsewhere\.py::test_mariadb_is_altered\[by key\]",
    r"cdc/test_tables_added\.py::.*\[(one|two)-by key\]",
    r"cdc/test_table_reset_mariadb\.py::.*\[(0-two-phase|3-by key)\]",
    r"test_target_changes\.py::.*\[direct\]",
    r"test_database_refuses\.py::.*\[(direct|exactly_once_recipe = direct|prepared, .*)\]",
    r"test_kafka_black_hole\.py::.*\[at_least_once\]",
    r"test_unknown_outcome\.py::.*\[postgres (append|direct)-1\]",
    r"test_sinks_fail_alone\.py::.*\[files-",
    r"cdc/test_mariadb_cdc\.py::test_changes_of_columns_are_followed\[by key\]",
    # other moments
    r"cdc/test_table_reset\.py::test_the_driver_dies\w+\[driver\.zero\.",
    r"cdc/test_tables_added\.py::test_the_driver_dies\w+\[driver\.setup\.after",
    r"test_kafka_sink\.py::test_a_stream_that_is_down_for_longer\w+",
    r"cdc/test_table_reset\.py::test_the_driver_dies\w+\[driver\.(schema|setup|commit|savepoint|journal)\.",
    r"cdc/test_(schema_changes|schema_policies)\.py::test_the_driver_dies\w+\[driver\.(schema\.before|savepoint|commit)\.?",
    r"cdc/test_decided_changes\w*\.py::test_the_driver_dies\w+\[driver\.(schema\.before|savepoint|commit)\.?",
    r"cdc/test_tables_added\.py::test_the_driver_dies\w+\[driver\.(savepoint|setup\.before|commit)\.?",
    r"test_errors_at_moments\.py::test_a_snapshot_that_fails\w+\[.*\.before\]",
    r"test_visible_at_once\.py::test_what_failed_goes_on\[worker\.unit\.began",
    r"cdc/test_change_rules\.py::test_the_driver_dies\w+\[driver\.(schema\.before|savepoint|commit|journal|takeover)\.?",
    r"cdc/test_(decided_changes|change_rules|table_reset)\.py::test_the_driver_dies\w+\[driver\.record\.durable",
    # the same between bounded runs, which an endless one shows
    r"cdc/test_bounded_postgres_cdc\.py::test_a_(table_joins_a_later_run|bounded_job_becomes_a_stream)",
    r"cdc/test_bounded_postgres_cdc\.py::test_a_run_ends_at_a_time\[past\]",
    # other servers and shapes
    r"cdc/test_change_rules\.py::test_a_job_of_one_table_goes_on_by_a_rule",
    r"cdc/test_tables_added\.py::.*\[two-two-phase\]",
    r"cdc/test_mariadb_cdc\.py::test_a_changed_table_is_isolated\w+\[(truncate|drop)\]",
    r"cdc/test_keeper_killed\.py::test_in_a_reset",
    r"test_cluster\.py::test_a_multi_table_job",
    r"cdc/test_bounded_mariadb_cdc\.py::test_a_(run_ends_at_a_(time|place)|bounded_job_becomes_a_stream)",
    r"cdc/test_decided_changes_mariadb\.py::test_(tables_wait_at_different_places|a_place_that_was_purged)",
    r"test_black_hole\.py::test_mariadb_falls_silent\[source\]",
    r"cdc/test_table_events\.py::test_only_the_table_stops\[(renamed|moved|swapped)-",
    r"cdc/test_table_events\.py::.*\[(dropped-not followed|created again-followed|swapped)\]",
    r"cdc/test_mariadb_cdc\.py::test_only_a_table_that_is_gone_stops\[(dropped-not followed|created again-followed)\]",
    r"cdc/test_decided_changes_mariadb\.py::.*\[(3|True)\]",
    r"cdc/test_postgres_cdc_keys\.py::test_rows_that_are_named_are_followed\[(declared|index|index, no key)\]",
    r"cdc/test_postgres_cdc\.py::test_a_table_that_changes_stops_alone\[(TRUNCATE|ALTER TABLE orders ALTER)",
    r"test_cluster\.py::test_a_(join|killed_executor\w+\[it is there)",
    r"test_forty_tables\.py::test_the_copy_is_a_source_itself",
    r"page/test_page\.py::test_a5\w+\[thousand\]",
    r"page/test_page\.py::test_a13\w+\[dark\]",
    r"page/test_page\.py::test_no_width\w+\[(768|1920)\]",
    r"test_tables_change\.py::test_columns_in_another_order\w+\[.*-more\]",
    r"test_kafka_black_hole\.py::test_a_batch_job\w+\[source\]",
    r"test_forty_tables\.py::.*\[mariadb\]",
    r"cdc/test_bounded_postgres_cdc\.py::test_a_run_ends_at_a_(time\[future\]|position)",
    r"cdc/test_bounded_postgres_cdc\.py::test_a_killed_run_is_finished_by_the_next_one",
    r"cdc/test_keeper_killed\.py::test_rows_that_move_between_blocks",
    r"cdc/test_log_lag\.py::test_mariadb",
    r"cdc/test_quiet_tables\.py",
    r"cdc/test_repair\.py::test_rows_of_mariadb",
    r"cdc/test_promotion_mariadb\.py::test_the_replica_is_followed",
    r"cdc/test_schema_changes\.py::test_the_driver_is_killed_while",
    r"cdc/test_decided_changes\.py::test_a_running_driver_dies_after",
    r"cdc/test_change_rules\.py::test_a_running_driver_dies_again",
    r"cdc/test_tables_added_mariadb\.py::test_the_driver_is_killed_while",
    r"cdc/test_tables_added_mariadb\.py::test_an_added_table_is_copied_and_followed\[two\]",
    r"cdc/test_tables_added\.py::test_tables_are_exchanged",
    r"cdc/test_tables_added\.py::test_the_driver_dies_at_each_step_of_a_join\[driver\.record\.durable",
    r"cdc/test_table_reset\.py::test_the_driver_dies_at_each_step_of_a_reset\[driver\.final",
    r"cdc/test_table_reset\.py::test_a_driver_on_another_machine",
    r"cdc/test_table_reset_mariadb\.py::test_a_table_is_copied_again_and_followed\[3-two-phase\]",
    r"cdc/test_reconcile_followed\.py::test_(rows_that_a_cascade|a_dropped_partition|postgres_settles)",
    r"cdc/test_decided_changes_mariadb\.py::test_the_driver_dies_between",
    r"cdc/test_altered_before_log\.py",
    r"cdc/test_mariadb_cdc\.py::test_only_a_table_that_is_gone_stops\[(renamed|swapped)",
    r"test_lost_snapshot\.py::test_a_server_that_is_started_again",
    r"test_living_drivers\.py::test_a_job_whose_driver_works_on_another_machine\w+\[True\]",
    r"test_rescale\.py::test_(a_table_of_postgresql_is_rescaled|a_savepoint_that_the_target)",
    r"test_failover\.py::test_an_outage_restarts_the_region",
    r"test_killed_driver\.py::test_(a_load_beside|a_load_of_one_moment)",
    r"test_kafka_source\.py::test_a_stream_whose_driver",
    r"test_black_hole\.py::test_postgresql_falls_silent\[sink\]",
    r"test_kafka_black_hole\.py::test_a_stream_goes_on",
    r"test_shared_store\.py::test_a_store_that_is_away_for_a_while_ends_nothing\[BATCH\]",
    r"test_retry_loop\.py::test_killed_workers",
    r"test_operations\.py::test_a_driver_that_was_taken_over_from",
    r"test_unknown_outcome\.py::.*\[mariadb staged-1\]",
    r"test_metrics\.py::test_counters_never_go_back\w+\[, metrics",
    r"server/test_kills\.py::test_o1_o2_a_killed_server_leaves_a_driver_on_spark",
    # another program is installed first
    r"(airflow/test_airflow|dagster/test_dagster)\.py::",
)
_PATTERN = re.compile("|".join(_LONG))


def is_long(nodeid: str) -> bool:
    """Whether this test is left out of `make test`."""
    return _PATTERN.search(nodeid) is not None
