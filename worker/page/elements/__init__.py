"""HTML and XML → elements, runs of text, and the values of attributes."""
