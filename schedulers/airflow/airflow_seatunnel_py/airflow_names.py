"""The classes of Airflow that this provider builds on, at the places of Airflow 3 or of Airflow 2."""

from __future__ import annotations

try:
    from airflow.sdk import BaseHook, BaseOperator, BaseOperatorLink, BaseSensorOperator
except ImportError:  # Airflow 2
    from airflow.hooks.base import BaseHook
    from airflow.models.baseoperator import BaseOperator
    from airflow.models.baseoperatorlink import BaseOperatorLink
    from airflow.sensors.base import BaseSensorOperator

try:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
except ImportError:
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

__all__ = [
    "AirflowException",
    "AirflowFailException",
    "AirflowSkipException",
    "BaseHook",
    "BaseOperator",
    "BaseOperatorLink",
    "BaseSensorOperator",
]
