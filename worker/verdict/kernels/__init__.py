"""The compiled steps on each claim before it is judged: ``titles`` finds the texts that belong to their site."""
