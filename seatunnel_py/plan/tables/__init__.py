"""Questions about single tables: conversions, existing rows, collisions of targets."""
