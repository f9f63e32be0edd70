"""Markup → the main text: what is outside the content, what is the content, and whether the title announces it."""
