"""The notifications of the server, as its interface shows them."""
