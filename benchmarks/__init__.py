"""What measures this project beside its peers, and its parts one by one; no part of the product."""
