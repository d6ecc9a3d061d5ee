"""Real servers for tests, e2e and benchmarks: private, on a free loopback port, gone with their directory."""
