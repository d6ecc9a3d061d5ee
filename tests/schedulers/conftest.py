"""Makes the provider for Airflow importable: it is a distribution of its own, and Airflow is none of ours."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "schedulers" / "airflow"))
