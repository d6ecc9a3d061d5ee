"""SeaTunnel's SQL translated to Spark's."""
