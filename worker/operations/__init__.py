"""An operator's actions on an index between two runs: inspect, repair, copy, switch, skip."""
