"""savings."""
