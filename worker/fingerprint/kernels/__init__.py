"""The steps of a fingerprint, compiled. Code points go through these in turn, each of which tests hold to what it is
equal to: ``spelling.spell`` (to ``worker.page.words.normalise``), ``cutting.cut`` (``worker.page.words.segment``),
``xxh3`` (XXH3) or with a key ``siphash`` (``hashing.siphash``), ``voting.vote`` (``worker.page.words.weigh`` and
``simhash``), ``sketching.sketch_tokens`` (``sketch``). All arrays are the caller's; nothing is kept between calls.
"""
