"""disclosure."""
