"""The port to the log over a real broker: the one home of kafka-python in the worker."""
