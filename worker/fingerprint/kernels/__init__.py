"""The steps of a fingerprint, compiled. Code points go through these in turn, each of which tests hold to what it is
equal to: ``spelling.spell`` (to ``worker.page.words.normalise``), ``cutting.cut`` (to
``tests/fingerprint/definition``), ``xxh3`` (XXH3) or with a key ``siphash`` (SipHash-2-4), ``voting.vote`` and
``sketching.sketch_tokens`` (to ``tests/fingerprint/definition``). All arrays are the caller's; nothing is kept between
calls.
"""
