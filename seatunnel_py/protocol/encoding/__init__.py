"""Records as bytes, and back."""
