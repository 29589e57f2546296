"""The admission webhooks: their server, its certificates, and the answers."""
