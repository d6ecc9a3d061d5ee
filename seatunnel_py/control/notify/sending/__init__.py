"""How an event is sent to one target: by a webhook, a chat, or mail."""
