"""The tables of a shard, compiled: ``plan`` says where what is kept, ``slabs`` and ``growth`` take entries in, many at
once by ``bulk``, ``nearness`` compares, ``scan`` and ``banded`` look up, ``titles`` tells which pages to look up twice.
"""
