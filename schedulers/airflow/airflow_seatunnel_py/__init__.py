"""Runs jobs of a seatunnel-py server from Apache Airflow."""

__version__ = "0.1.0"
