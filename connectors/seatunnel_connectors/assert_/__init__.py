"""A sink that checks what arrives."""
