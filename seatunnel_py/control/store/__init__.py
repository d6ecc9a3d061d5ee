"""What only the server knows: definitions, wishes, intents, the queue, tokens, the audit. Never the state of a run."""
