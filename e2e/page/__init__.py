"""The web page of ``seatunnel server`` in a real browser, against real servers."""
