"""A page for people that shows what a scan has found."""
