"""What an operator does to an index between two runs: inspect, repair, copy, switch, skip."""
