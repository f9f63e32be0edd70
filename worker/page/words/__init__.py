"""A text → uniform spelling → tokens → weighted features."""
