"""DAGs that real Airflow runs against a real server, in a virtual environment of its own."""
