"""State that only the server has: definitions, wishes, intents, queue, tokens, audit. Never the state of a run."""
