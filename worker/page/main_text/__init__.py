"""Markup → the main text: what is beside the content, what is the content, and whether the title announces it."""
