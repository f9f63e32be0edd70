"""Records in, verdicts out: no page is read here."""
