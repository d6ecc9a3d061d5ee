"""SeaTunnel: SeaTunnel Zeta 2.3.8 in one process, fed with job files."""
