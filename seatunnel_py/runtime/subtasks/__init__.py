"""Units under way: attempts, retries, error budgets and costs."""
