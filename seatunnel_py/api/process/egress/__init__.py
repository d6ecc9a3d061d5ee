"""Which addresses jobs, discoveries, tests of connections and webhooks of a server may reach."""
