"""The memory layout of the compiled index: the words that kernels and Python share.

``state`` is one array of int64; it holds the addresses of all larger parts, so that a kernel takes one number and
reaches all. Rows, slabs and nodes:

- A *row* is four uint32, REGION, OFFSET, LENGTH and CAPACITY: a bucket and where its slab lies. The two highest bits of
  REGION are its form. Rows stand in chunks of 2^12; ``row`` numbers count through all chunks.
- A *slab* is a bucket's entries, contiguous in one region: 8 bytes of header (its row, its size in units of 8 bytes),
  then the tags of all, then the slots of all, ascending. There is room for CAPACITY of each, and LENGTH are used.
- A *node* stands for a bucket that became too full: four groups of rows, see ``growth.split``.

Slots are numbers of entries modulo 2^32. ``FIRST`` is the oldest live one: seen from there, modulo 2^32, live slots
ascend from 0, and expired slots that were not removed yet lie at 2^31 and above.
"""

from __future__ import annotations

from typing import Final

ROW_BITS: Final = 12
ROWS_A_CHUNK: Final = 1 << ROW_BITS
ROW_BYTES: Final = 16
REGION: Final = 0
OFFSET: Final = 1
LENGTH: Final = 2
CAPACITY: Final = 3

FORM_SHIFT: Final = 30
REGION_MASK: Final = (1 << FORM_SHIFT) - 1
TAGGED: Final = 0
"""Tags of 32 bits, slots."""
KEYED: Final = 1
"""Tags of 16 bits that are the rest of a 32-bit key, slots."""
COPIED: Final = 2
"""As KEYED, with the token counts and sketches of all in addition, so that a full bucket is compared in one sweep."""
NODE: Final = 3
"""No slab; the region is the number of a node."""

UNIT: Final = 8
ROOM: Final = 24
"""A slab that moves gets room for one more entry in this many: a smaller number means fewer moves, a larger one less
memory."""
EXPIRED_FROM: Final = 1 << 31
SLOT_MASK: Final = (1 << 32) - 1
NO_SLOT: Final = 2**62
"""Larger than any slot: nothing found."""

ROWS: Final = 0
ROW_CHUNKS: Final = 1
BASES: Final = 2
USED: Final = 3
LIVE: Final = 4
SIZES: Final = 5
REGIONS: Final = 6
OPEN: Final = 7
WANTED: Final = 8
WANTED_ROW: Final = 9
WANTED_PARENT: Final = 10
WANTED_GROUP: Final = 11
TABLES: Final = 12
TITLED: Final = 13
"""Whether any entry has a site, a title or a doubt; otherwise none is read."""
BLOCK_TABLES: Final = 14
BAND_TABLES: Final = 15
NODES: Final = 16
COLUMNS: Final = 18
RING: Final = 19
CHUNK_BITS: Final = 20
FIRST: Final = 21
K: Final = 22
RATIO_LEAST: Final = 23
RATIO_MOST: Final = 24
THRESHOLD: Final = 25
SKETCH_LEAST: Final = 26
SKETCH_MOST: Final = 27
SCRATCH: Final = 28
CANDIDATES: Final = 29
SEEKS: Final = 30
HAMMING_THRESHOLD: Final = 31
URL_TABLE: Final = 32
LEAST_ACROSS: Final = 33
SHORT: Final = 34
SHORT_THRESHOLD: Final = 35
SHORT_LEAST: Final = 36
SHORT_MOST: Final = 37
ONE: Final = 38
"""A page that is looked up by itself, ``PAGE_WORDS``."""
STATE_WORDS: Final = 41

PAGE_TOKENS: Final = 0
PAGE_SITE: Final = 1
PAGE_TITLE: Final = 2
PAGE_DOUBT: Final = 3
PAGE_TITLE_WORDS: Final = 4
PAGE_WORDS: Final = 6
"""The data on a page that a look-up gets in addition to its fingerprint, text, scope and sketch, in words of 32 bits:
the words of the title take two, the lower half first."""

TABLE_ROW: Final = 0
TABLE_ROWS: Final = 1
TABLE_MASK: Final = 2
TABLE_KEY_BITS: Final = 3
TABLE_ROTATION: Final = 4
TABLE_BLOCKS: Final = 5
TABLE_SPLIT_FROM: Final = 6
TABLE_FORM: Final = 7
TABLE_COLUMN: Final = 8
TABLE_SHIFTS: Final = 9
TABLE_WORDS: Final = 32
TABLE_CHUNKS: Final = 1 << 12
"""Row chunks that each table may have: 2^24 rows."""

NODE_ROW: Final = 0
NODE_WIDTH: Final = 1
NODE_BITS: Final = 2
NODE_PARENT: Final = 3
NODE_GROUP: Final = 4
NODE_TABLE: Final = 5
NODE_WORDS: Final = 8

LEAST_BITS: Final = 20
"""A bucket with fewer bits left is not split: pages that are not near one another cannot fill it."""
LEAVES: Final = 1024
"""Buckets that one value may lead to: each split makes four of one, and after five splits fewer than LEAST_BITS of 60
bits are left."""
QUEUED: Final = 2048
LEAF_WORDS: Final = 5
SCRATCH_WORDS: Final = (LEAVES + QUEUED) * LEAF_WORDS

SEEK_QUERIES: Final = 32
"""Queries between the first and the last step of a look-up, at most; a power of two above ``scan.ROWS_AHEAD``."""
SEEK_TABLES: Final = 16
SEEK_WORDS: Final = 8
"""A cache line for each query and table."""
SEEK_ROW: Final = 0
SEEK_TAG: Final = 1
SEEK_AT: Final = 2
SEEK_SLOTS: Final = 3
SEEK_LENGTH: Final = 4
SEEK_PLACE: Final = 5
SEEK_AFTER: Final = 6

COLUMN_ADDRESS: Final = 0
COLUMN_BASE: Final = 1
COLUMN_WIDTH: Final = 2
COLUMN_STEP: Final = 3
COLUMN_WORDS: Final = 4
"""For each column of a chunk: its address, the number that is added to each value, the bytes of each value, and the
bytes from one value to the next."""
FINGERPRINT: Final = 0
TEXT: Final = 1
TOKENS: Final = 2
SKETCH: Final = 3
BATCH: Final = 4
PLACE: Final = 5
BARE: Final = 6
URL: Final = 7
SCOPE: Final = 9
SITE: Final = 10
TITLE: Final = 11
DOUBT: Final = 12
TITLE_WORDS: Final = 13
COLUMN_COUNT: Final = 14

SKETCH_WORDS: Final = 4
BANDS: Final = 8
