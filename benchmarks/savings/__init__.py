"""Savings benchmark: tokens per task with all tools sent and with tool search."""
