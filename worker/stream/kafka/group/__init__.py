"""Membership in Kafka's consumer groups: who owns what, who places it, and what a member hears of it."""
