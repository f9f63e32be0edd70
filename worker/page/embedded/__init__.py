"""What a page holds beside its visible text: JSON in its scripts, and the sources of pictures and players."""
