"""Membership in Kafka's consumer groups: who owns what, who places it, and how a member learns of it."""
