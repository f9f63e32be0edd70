"""Why two pages are near or not: their texts, and every step from them to the verdict."""
