"""The settings of the plugin: each declared once, read and checked before the first request."""
