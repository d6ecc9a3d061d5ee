"""Lists every function whose meaning differs between SeaTunnel and Spark; any other name is Spark's own."""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.spark.dialect.call import Translation
from seatunnel_py.spark.dialect.number_functions import NUMBER_FUNCTIONS
from seatunnel_py.spark.dialect.other_functions import OTHER_FUNCTIONS
from seatunnel_py.spark.dialect.text_functions import TEXT_FUNCTIONS
from seatunnel_py.spark.dialect.time_functions import TIME_FUNCTIONS

FUNCTIONS: Mapping[str, Translation] = {
    **TEXT_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **TIME_FUNCTIONS,
    **OTHER_FUNCTIONS,
}
