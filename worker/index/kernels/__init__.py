"""The tables of a shard, compiled: ``plan`` defines the memory layout, ``slabs`` and ``growth`` add entries, ``bulk``
many at once, ``nearness`` compares, ``scan`` and ``banded`` look up, ``titles`` finds the pages to look up twice.
"""
