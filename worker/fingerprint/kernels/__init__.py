"""The steps of a fingerprint, compiled. Code points go through these steps in turn; tests check that each one equals
its definition: ``spelling.spell`` (``worker.page.words.normalise``), ``cutting.cut``
(``tests/fingerprint/definition``), ``xxh3`` (XXH3) or with a key ``siphash`` (SipHash-2-4), ``voting.vote`` and
``sketching.sketch_tokens`` (``tests/fingerprint/definition``). All arrays are the caller's; nothing is kept between
calls.
"""
