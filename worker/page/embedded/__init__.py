"""Content of a page in addition to its visible text: JSON in its scripts, and the sources of pictures and players."""
