"""Every function whose meaning differs between the peer and Spark; any other name is Spark's own."""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.spark.sql_call import Translation
from seatunnel_py.spark.sql_number_functions import NUMBER_FUNCTIONS
from seatunnel_py.spark.sql_other_functions import OTHER_FUNCTIONS
from seatunnel_py.spark.sql_text_functions import TEXT_FUNCTIONS
from seatunnel_py.spark.sql_time_functions import TIME_FUNCTIONS

FUNCTIONS: Mapping[str, Translation] = {
    **TEXT_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **TIME_FUNCTIONS,
    **OTHER_FUNCTIONS,
}
