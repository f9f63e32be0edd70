"""Why two pages are near or not: their texts, and all that leads from them to the verdict."""
