"""The control plane of ``seatunnel server``: which runs there are, which are wished, and how they are started. Knows no
HTTP; starts drivers only as processes of their own."""
