"""``python -m worker forget``: survivors of a site, a host, a time … are forgotten by all workers at one place."""

from __future__ import annotations

import argparse
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final, Literal

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, UsageError
from crawler_plugin.wire.forgetting import ForgetCondition
from crawler_plugin.wire.moments import since_1970
from crawler_plugin.wire.topics import (
    ANSWERS,
    DAY_MS,
    DEAD_LETTERS,
    DEDUPLICATED,
    FINDINGS,
    FINGERPRINTS,
    INDEX,
    PAGES,
    VERDICTS,
    TopicSpec,
)
from crawler_plugin.wire.urls import canonical_url
from worker.compose import parts
from worker.compose.step import policy
from worker.compose.topology import cluster, specs
from worker.fingerprint.fingerprinter import Recipe, number_of_site
from worker.operations.forget import WrittenForget, preview
from worker.sites import host_of, site_of
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import Difference, compare_topics
from worker.stream.partition.scopes import scope_named
from worker.stream.policy import MAX_URL_BYTES
from worker.stream.preflight import check_scheme_from_outside, check_topics
from worker.terminal import aligned

if TYPE_CHECKING:
    from worker.config import Settings

LOOK_SECONDS: Final = 0.2
_ORIGIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+/")
_HOLDS: Final = {
    PAGES: "the pages as they were fetched",
    FINGERPRINTS: "their URLs and fingerprints",
    ANSWERS: "URLs of originals",
    DEDUPLICATED: "the pages that stay",
    VERDICTS: "their URLs and verdicts",
    DEAD_LETTERS: "pages that could not be read",
    FINDINGS: "URLs of findings",
}
"""The content that each topic keeps of a forgotten page; ``jobs`` has only sums."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Forgets pages that were judged before, while workers run: none of them is an original any more, and one that "
        "comes again is unique. Without --yes it changes nothing: it says how many entries in the blocks on the index "
        "topic would be forgotten, and names some. With --yes it writes a record between the batches, and waits until "
        "every shard has passed this record and says so on the index topic. The exit code is 1 if some shards have not "
        "passed it after --timeout: they will when their workers come to it. In the end it says what stays where, and "
        "for how long. It cannot be undone. Each generation forgets separately."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--site", metavar="DOMAIN", help="pages of a registered domain, as example.co.uk, with all hosts")
    what.add_argument("--host", metavar="HOST", help="pages of a host, on all ports")
    what.add_argument("--url-prefix", metavar="URL", help="pages whose canonical URL begins with this")
    what.add_argument("--before", metavar="DATE", help="pages fetched before this date or time (ISO 8601), UTC")
    what.add_argument("--scope", metavar="NAME", help="pages of this host, site or header's value, as near.scope says")
    parser.add_argument("--yes", action="store_true", help="forget them")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds to wait (default: 120)")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if all shards have forgotten the pages, or if there is nothing to do yet.

    Raises:
        CheckFailed: no page was ever judged, or shards have not passed the record in time.
        UsageError: the condition is not a possible site, host, …
        Refused: topics or blocks differ from the settings, or too much was forgotten already.
        Unavailable: the broker or a topic is not there.
    """
    settings = load()
    recipe = parts.recipe(settings)
    condition = condition_of(arguments, settings, recipe)
    wanted = specs(settings)
    differences = compare_topics(client_options(settings.kafka), wanted)
    check_topics(differences)
    rules = policy(settings, parts.scheme(settings, recipe), secrets.token_bytes(8))
    with cluster(settings) as broker:
        if not check_scheme_from_outside(broker, rules):
            topics = settings.topics
            raise CheckFailed(
                f"nothing was ever judged with topics.prefix={topics.prefix!r} and topics.generation="
                f"{topics.generation!r}: check both"
            )
        if not arguments.yes:
            found = preview(broker, condition, rules)
            print(f"{counted(found.entries, 'entry', 'entries')} on {INDEX} would be forgotten: {condition.in_words}")
            print("".join(f"  {url}\n" for url in found.urls), end="")
            print("nothing was changed; --yes forgets them, and also those that no block holds yet")
            return 0
        with closing(WrittenForget(broker, condition, rules)) as forgetting:
            print(f"record {forgetting.offset} of {FINGERPRINTS} says: forget {condition.in_words}", flush=True)
            deadline = time.monotonic() + arguments.timeout
            while forgetting.waits_for and time.monotonic() < deadline:
                forgetting.look(LOOK_SECONDS)
            waits_for = forgetting.waits_for
    print("\n".join(remains(wanted, differences, settings)))
    if waits_for:
        raise CheckFailed(
            f"shards {', '.join(map(str, waits_for))} have not passed the record after {arguments.timeout:g} s. The "
            "record stays: they forget when their workers come to it, even if these start later. Look at the workers, "
            "and run this again to see whether they have"
        )
    print("all shards have forgotten")
    return 0


def condition_of(arguments: argparse.Namespace, settings: Settings, recipe: Recipe) -> ForgetCondition:
    """The condition that the options give.

    Raises:
        UsageError: there can be no such pages, or the value says more than is meant.
    """
    tokens_key, scopes_key = (recipe.key.tokens, recipe.key.scopes) if recipe.key else (None, None)

    def of_urls(kind: Literal["site", "host", "url-prefix"], text: str, host: str) -> ForgetCondition:
        registered = site_of(host)
        known = registered == site_of(f"x.{host}")  # otherwise it is no site, or one port of an address
        return ForgetCondition(kind=kind, text=text, site=number_of_site(registered, tokens_key) if known else 0)

    if arguments.site is not None:
        host = _host("--site", arguments.site)
        if site_of(host) != host or site_of(f"x.{host}") != host:
            raise UsageError(
                f"--site {arguments.site} is no registered domain"
                + (f", its site is {site_of(host)}" if site_of(host) != host else "")
                + ": give one as example.co.uk, or a host by --host"
            )
        return of_urls("site", host, host)
    if arguments.host is not None:
        host = _host("--host", arguments.host)
        return of_urls("host", host, host)
    if arguments.url_prefix is not None:
        prefix = _prefix(arguments.url_prefix)
        return of_urls("url-prefix", prefix, host_of(prefix))
    if arguments.before is not None:
        return ForgetCondition(kind="before", number=_moment(arguments.before))
    if settings.near.scope == "global":
        raise UsageError("--scope needs pages that are compared within scopes, and near.scope is global: use --host")
    name = arguments.scope if settings.near.scope.startswith("header:") else _host("--scope", arguments.scope)
    if not name:
        raise UsageError("--scope is empty: name a host, a site or a header's value, as near.scope says")
    return ForgetCondition(kind="scope", number=scope_named(name.encode(), scopes_key))


def _host(option: str, value: str) -> str:
    """The host in the spelling of canonical URLs."""
    try:
        host = host_of(canonical_url(f"http://{value}/"))
    except ValueError:
        host = ""
    if not host or any(sign in value for sign in "/?#@ "):
        raise UsageError(f"{option} {value!r} is no host: give a name alone, as www.example.org")
    return host


def _prefix(value: str) -> str:
    """With scheme and host in the spelling of canonical URLs; the rest is unchanged."""
    found = _ORIGIN.match(value)
    try:
        origin = canonical_url(found[0]) if found else ""
    except ValueError:
        origin = ""
    if not found or not origin:
        raise UsageError(
            f"--url-prefix {value!r} does not reach the slash after the host: give it as https://example.org/user/"
        )
    prefix = origin + value[found.end() :]
    if len(prefix.encode()) > MAX_URL_BYTES:
        raise UsageError(f"--url-prefix has {len(prefix.encode())} bytes, no page's URL has more than {MAX_URL_BYTES}")
    return prefix


def _moment(value: str) -> int:
    try:
        moment = since_1970(value)
    except ValueError as error:
        raise UsageError(f"--before {value!r} is no time ({error}): give it as 2026-01-31 or in ISO 8601") from error
    if moment > time.time() * 1000:
        raise UsageError(f"--before {value} lies in the future: all pages would be forgotten. Give a time in the past")
    return moment


def remains(wanted: Sequence[TopicSpec], differences: Sequence[Difference], settings: Settings) -> Iterator[str]:
    """The remaining data of forgotten pages, topic by topic, and for how long it stays, by the broker's settings."""
    found = {each.topic: each.found for each in differences if each.what == "retention.ms"}
    yield "what stays of these pages:"
    rows = []
    for spec in wanted:
        if spec.topic in _HOLDS:
            kept = found.get(spec.name) or spec.config["retention.ms"]
            days = "for ever" if kept == "-1" else f"for {int(kept) / DAY_MS:g} days"
            rows.append((f"  {spec.name}", _HOLDS[spec.topic], days))
        elif spec.topic == INDEX:
            rows.append((f"  {spec.name}", "blocks of before", "until `python -m worker index copy` and topics delete"))
    if settings.index.state_dir is not None:
        rows.append((f"  {settings.index.state_dir}", "snapshots of workers", "until the next one, 10 minutes"))
    rows.append(("  workers' memory", "URLs and fingerprints, no longer found", "until a worker restores the shard"))
    yield from aligned(rows)
