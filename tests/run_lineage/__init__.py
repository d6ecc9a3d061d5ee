"""Lineage events: their form, their size, their delivery, and real runs that send them."""
