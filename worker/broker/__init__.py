"""A real Apache Kafka on this machine, installed with nothing but pip."""
