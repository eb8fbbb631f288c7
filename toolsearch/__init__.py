"""A chat client whose tool-calling loop is an advisor, and tool search that discloses tools progressively."""
