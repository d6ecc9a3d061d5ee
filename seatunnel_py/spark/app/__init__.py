"""Starts Spark: the JVM, the application, Python workers, what travels to a cluster."""
