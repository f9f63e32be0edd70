"""What is read out of archives, whole ones and broken ones."""
