"""Starts Spark: the JVM, the application, Python workers, and the files shipped to a cluster."""
