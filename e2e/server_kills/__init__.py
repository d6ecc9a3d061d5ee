"""Twenty jobs under a server that is killed at random moments, and the check that nothing is lost or done twice."""
