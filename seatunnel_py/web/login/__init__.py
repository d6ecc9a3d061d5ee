"""Sessions of browsers: the cookie, the origin of a request, and links that log in once."""
