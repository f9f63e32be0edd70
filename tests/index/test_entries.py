import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.forgetting import MAX_U64
from crawler_plugin.wire.messages import COLUMN_WIDTHS, OPTIONAL_WIDTHS
from tests.index.worlds import maybe_fingerprints, page, survivors_of, text_hashes
from worker.index.entries import COLUMNS, OPTIONAL, Entries, Survivor

sketches = st.sampled_from((b"", b"", bytes(range(32)), b"\x01".rjust(32, b"\0"), b"\xff" * 32))
rows = st.lists(
    st.builds(
        Survivor,
        order=st.tuples(st.integers(0, 9), st.integers(0, 2**32 - 1)),
        url=st.text(st.characters(exclude_categories=["Cs"])),
        fingerprint=maybe_fingerprints,
        text_hash=text_hashes,
        tokens=st.integers(0, 2**32 - 1),
        fetched=st.integers(-(2**63), 2**63 - 1),
        sketch=sketches,
        bands=sketches,
        scope=st.integers(0, MAX_U64),
        site=st.integers(0, 2**32 - 1),
        title=st.integers(0, 2**32 - 1),
        title_words=st.integers(0, MAX_U64),
        doubt=st.integers(0, 2),
    ),
    max_size=20,
)


@given(rows)
def test_rows_become_columns_and_rows_again(survivors: list[Survivor]) -> None:
    assert list(Entries.from_rows(survivors)) == survivors


def test_columns_are_as_wide_as_those_of_a_block() -> None:
    assert {name: dtype.itemsize for name, dtype in COLUMNS.items()} == COLUMN_WIDTHS
    assert {name: dtype.itemsize for name, dtype in OPTIONAL.items()} == OPTIONAL_WIDTHS


def test_the_url_hash_is_xxh3_of_the_url() -> None:
    entries = Entries.from_rows([page(MAX_U64, url="https://例え.example/")])
    assert entries.url_hash.tolist() == [xxhash.xxh3_64_intdigest("https://例え.example/".encode())]


@pytest.mark.parametrize(
    ("orders", "ascending"),
    [
        ([], True),
        ([(0, 0)], True),
        ([(0, 0), (0, 1), (1, 0), (7, 0)], True),
        ([(0, 1), (0, 1)], False),
        ([(0, 1), (0, 0)], False),
        ([(1, 0), (0, 9)], False),
        ([(0, 0), (2, 0), (1, 5)], False),
        ([(2**40, 2**32 - 1), (2**40 + 1, 0)], True),
    ],
)
def test_ascending_means_each_order_above_the_one_before(orders: list[tuple[int, int]], ascending: bool) -> None:
    assert Entries.from_rows([page(order=order) for order in orders]).ascending is ascending


@pytest.mark.parametrize("batch", [-1, 0, 3, 4, 5, 9])
def test_after_and_up_to_split_at_a_batch(batch: int) -> None:
    survivors = survivors_of([1, 2], 3) + survivors_of([3, None, 5], 5)
    entries = Entries.from_rows(survivors)
    assert list(entries.after(batch)) == [row for row in survivors if row.order[0] > batch]
    assert list(entries.up_to(batch)) == [row for row in survivors if row.order[0] <= batch]


def test_parts_are_joined_in_their_order() -> None:
    first, second = survivors_of([1, 2], 3), survivors_of([None], 5)
    joined = Entries.concatenate([Entries.from_rows(first), Entries.empty(), Entries.from_rows(second)])
    assert list(joined) == first + second
    assert len(Entries.concatenate([])) == 0


def test_parts_without_a_column_have_zeros_in_it_where_others_have_it() -> None:
    bare, scoped = page(1), page(2, order=(1, 0))._replace(sketch=b"\x07" * 32, scope=9, title=7)
    joined = Entries.concatenate([Entries.from_rows([bare]), Entries.from_rows([scoped])])
    assert list(joined) == [bare, scoped]
    assert (joined.bands, joined.site, joined.doubt) == (None, None, None)
    assert joined[1:].filled("scope").tolist() == [9]


def test_columns_of_other_length_or_type_are_refused() -> None:
    entries = Entries.from_rows(survivors_of([1, 2]))
    columns = {name: entries.column(name) for name in COLUMNS}
    with pytest.raises(ValueError, match="1 URLs for 2 entries"):
        Entries(**columns, urls=("one",))
    with pytest.raises(ValueError, match="column tokens"):
        Entries(**(columns | {"tokens": entries.tokens[:1]}), urls=entries.urls)
    with pytest.raises(ValueError, match="column fingerprint is int64"):
        Entries(**(columns | {"fingerprint": entries.fingerprint.astype(np.int64)}), urls=entries.urls)
    with pytest.raises(ValueError, match="column sketch is uint64"):
        Entries(**columns, urls=entries.urls, sketch=np.zeros((2, 3), np.uint64))
