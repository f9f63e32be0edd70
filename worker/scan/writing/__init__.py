"""The pages that stay, in the form in which they came."""
