"""Every setting: its section, name, type, bounds, default, unit and reason. The one source of file, docs and errors.

Building ``Settings()`` reads no file and no environment: it is the defaults. ``worker.config.load`` adds the layers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FilePath, field_validator

from worker.config.kafka_settings import KafkaSettings
from worker.config.section import Section, setting
from worker.places import is_url

AUTO: Final = "auto"


class TopicSettings(Section):
    """The nine topics. `python -m worker topics create` makes them so, `topics check` compares."""

    prefix: str = setting(
        "dedup.",
        "Prefix of each topic's name: dedup.pages and so on. Two crawls on one broker need two prefixes. Change it for "
        "a second crawl on one broker.",
        pattern=r"^[A-Za-z0-9._-]*$",
        max_length=200,
    )
    generation: str = setting(
        "",
        "Suffix, after a dot, of each topic's name except pages, and of both consumer groups: dedup.index.b. It is for "
        "other settings next to those in force, over the same pages. Set it to try other settings on a crawl that "
        "runs.",
        pattern=r"^[A-Za-z0-9._-]*$",
        max_length=30,
    )
    partitions: int = setting(
        8,
        "Partitions of pages and of the three outputs: the largest number of workers that can share the pages. It can "
        "be raised while workers run (`topics create --alter-config`), never lowered. Change it if more workers are to "
        "share the pages.",
        ge=1,
        le=1000,
    )
    shards: int = setting(
        8,
        "Parts of the index: the largest number of workers that can share its memory. Cannot be changed for topics "
        "that exist. Change it before the first page if more workers are to share that memory.",
        ge=1,
        le=1000,
    )
    replication_factor: int = setting(
        1,
        "Copies of each record on different brokers. 3 for a cluster that may lose a broker. Change it if the broker "
        "is a cluster.",
        ge=1,
        le=100,
    )
    retention_days: float = setting(
        7,
        "How long the broker keeps pages, outputs and the two logs. A worker that was away for longer cannot replay "
        "what it missed. Change it if workers may be away for longer, or if the broker's disk is small.",
        unit="days",
        gt=0,
        le=3650,
    )
    max_message_bytes: int = setting(
        8 * 1024 * 1024,
        "Largest record batch that the broker takes on these topics. Bounds the largest page. Change it, with the "
        "broker's own limit, if larger pages are to be kept.",
        unit="bytes",
        ge=128 * 1024,
        le=1024**3,
    )
    compression: Literal["zstd", "none"] = setting(
        "zstd",
        "How workers compress deduplicated, verdicts and dead-letters. Workers may differ in it; a reader of these "
        "topics needs the codec. Change it to none if one of your consumers does not read it.",
    )


class PageSettings(Section):
    """From bytes to text."""

    max_bytes: int = setting(
        4 * 1024 * 1024,
        "Part of a page that is parsed; the rest is left out. Bounds time and memory. Leave it, unless pages of your "
        "sites have their text after the first 4 MiB.",
        unit="bytes",
        ge=1024,
        le=1024**3,
    )
    timeout_seconds: float = setting(
        10,
        "CPU time that parsing a page may take. A page that takes more, or six times as long by the clock, is tried "
        "once more by itself and then becomes a dead letter, so that it cannot hold up the others. CPU time, since a "
        "machine that is paused or busy says nothing about a page. Leave it, unless good pages become dead letters "
        "with the reason parser-timeout.",
        unit="seconds",
        ge=0.0001,
        le=3600,
    )
    memory_mb: int = setting(
        512,
        "Memory that one parsing process may use; a page that needs more becomes a dead letter. Change it if good "
        "pages become dead letters with the reason parser-memory.",
        unit="MiB",
        ge=64,
        le=1024 * 1024,
    )
    processes: int = setting(
        0,
        "Parsing processes, which can be killed without harm to the worker; 0 means one a core. Change it if the "
        "worker shares its cores with others.",
        ge=0,
        le=1024,
    )


class SegmentSettings(Section):
    """From text to words."""

    user_dictionary: FilePath | None = setting(
        None,
        "Own words in jieba's format (word, frequency, tag), UTF-8: product names, 51区, 9架. Set it if your pages are "
        "Chinese and full of names.",
    )
    fold_traditional: bool = setting(
        True,
        "Read traditional Chinese characters as the simplified ones for them, so that a text in either spelling is "
        "one text. Change it only to keep the two spellings of a text apart.",
    )
    noise_words: FilePath | None = setting(
        None,
        "Words that say nothing about a page, one a line, UTF-8. Without it the built-in lists are used: function "
        "words of Chinese and English, and of forty more languages in texts of these languages. Leave it, unless all "
        "of your pages have a word that is in no list.",
    )


class FeatureSettings(Section):
    """From words to weighted features."""

    minimum: int = setting(
        3,
        "A page with fewer different features (words, and pairs of neighbours) gets no fingerprint: it is a duplicate "
        "only of a page with the same text, or, without any word, with the same bytes. A fingerprint of one or two "
        "features says too little. Leave it, unless pages with very few words are to be near to others.",
        unit="features",
        ge=1,
        le=1000,
    )


class FingerprintSettings(Section):
    """From features to 64 bits."""

    key_file: FilePath | None = setting(
        None,
        "File that holds a secret of at least 16 bytes, the same for all workers of a crawl; line ends at its end are "
        "left out. Without it anyone can make a page that has a later page called its duplicate: see "
        "docs/how-to/security.md. Another secret makes other fingerprints, and needs a topics.generation of its own. "
        "Set it if strangers can add pages to the crawl.",
    )


class NearSettings(Section):
    """When two pages are the same."""

    predicate: Literal["accurate", "simhash"] = setting(
        "accurate",
        "The rule. simhash: the fingerprints differ in at most k bits, and the shorter page has three fifths of the "
        "longer one's tokens. accurate: or the pages share most of their pairs of neighbouring words, which takes 64 "
        "bytes more a page; it finds nearly all edited copies, simhash seven in ten. Change it if memory is short and "
        "edited copies matter less.",
    )
    k: int = setting(
        3,
        "Largest number of different bits. 3 of 64 is what Manku, Jain and Das Sarma found reasonable for web pages "
        "(WWW 2007); above it the index would have to look at many more entries. Change it by what `python -m worker "
        "calibrate` says of your own pages.",
        unit="bits",
        ge=0,
        le=3,
    )
    threshold: float = setting(
        0.54,
        "accurate only: least similarity of two pages by their sketches, as the share of pairs of neighbouring words "
        "that they have in common; at least 0.6 if one has fewer than 50 tokens. `python -m worker calibrate` chooses "
        "it, and k, by labelled pages. Change it only as that command says.",
        ge=0.4,
        le=1,
    )
    scope: str = setting(
        "global",
        "Pages are only compared within it: global, host, site (the registrable domain, as example.co.uk), or "
        "header:NAME, a header of the page's record such as header:spider; pages without it are compared with each "
        "other. Change it if copies on other hosts, sites or in other crawls are to stay.",
        pattern=r"^(global|host|site|header:[^\s:][^\s]*)$",
        example="header:spider",
    )
    track_changes: bool = setting(
        False,
        "Compare each page with the last text of its URL that survived, too: verdicts then say whether it has changed "
        "and by how much. Takes 12 bytes a page in the index's memory. Set it if pages are fetched again and again "
        "and you want to know what became new.",
    )
    ttl_days: float | None = setting(
        None,
        "Forget a page that was fetched this long before the newest one. Bounds memory; without it nothing is "
        "forgotten. A fetch time in the future counts as at most a tenth of this, and at most a day, after the "
        "broker's time; without Kafka, after the largest fetch time before it. At least 0.05 (72 minutes), since "
        "clocks easily differ by a tenth of less. Set it for a crawl that never ends.",
        unit="days",
        ge=0.05,
        le=36500,
    )


class IndexSettings(Section):
    """Where survivors are looked up."""

    layout: Literal["4x16", "8x8", "16x4"] = setting(
        "4x16",
        "Look-up tables, as blocks of a fingerprint x bits of a block. Every table holds every entry, so more of them "
        "take more memory; narrower keys look at more entries. Leave it: the other two are for a comparison with the "
        "literature.",
    )
    flush_entries: int = setting(
        4096,
        "Survivors in a packed block on the index topic. Larger blocks load faster, and a crash repeats more work. "
        "Leave it, unless a restart takes too long.",
        ge=1,
        le=1_000_000,
    )
    flush_seconds: float = setting(
        60,
        "A block is written after this time even when it is not full. Leave it, unless a crash must not repeat a "
        "minute of a slow crawl.",
        unit="seconds",
        gt=0,
        le=86400,
    )
    replicas: int = setting(
        1,
        "Workers that hold each shard. With 2 another one answers as soon as the first does not, so a worker that "
        "dies holds up the verdicts on its own pages only; the index takes twice the memory of all workers together. "
        "Give all workers of a crawl the same. With 2 the topic index-standby is needed. Set it to 2 if no verdict "
        "may wait for a worker's restart.",
        ge=1,
        le=2,
    )
    hedge_ms: float = setting(
        50,
        "With index.replicas: 2, how long a shard's second holder waits for the answer of the first before it gives "
        "its own. With less, both answer more often; with more, each batch waits longer when the first one is gone. "
        "Leave it, unless the two holders are far apart.",
        unit="ms",
        ge=0,
        le=60_000,
    )
    memory_mb: Annotated[int, Field(ge=0, le=64 * 1024 * 1024)] | Literal["auto"] = setting(
        AUTO,
        "Memory that the index of one worker may take, URLs included; 0 is no limit. A worker refuses (exit code 4) "
        "before it takes more, and says what to do. Loading and growing take up to half as much again for a moment. "
        "auto: 70 % of what the control group or the machine has, less page.processes times page.memory_mb and 120 MiB "
        "each. If several workers share one group, give each its part as a number. Set it if several workers share a "
        "machine or a control group.",
        unit="MiB",
    )
    state_dir: Path | None = setting(
        None,
        "Folder on this machine for snapshots of the index: a restart reads the index topic only from where they end. "
        "Workers of one crawl may share it; it is for their user alone. Without it the whole topic is read; nothing "
        "is lost either way. Set it for an index of millions of pages, where a restart takes minutes.",
    )
    snapshot_seconds: float = setting(
        600,
        "Time between two snapshots; a drain takes one, too. A restart reads from the topic what came after the last "
        "one. Change it if writing snapshots takes much of the disk.",
        unit="seconds",
        ge=1,
        le=86400,
    )

    @field_validator("state_dir", mode="before")
    @classmethod
    def _state_dir_is_here(cls, value: Any) -> Any:
        if is_url(str(value)):
            raise ValueError("a URL, and snapshots stay on this machine")
        return value


class OutputSettings(Section):
    """What of the pages goes out; verdicts always do."""

    mode: Literal["tag", "drop", "verdicts", "count"] = setting(
        "tag",
        "tag: every page goes out with its verdict in headers. drop: duplicates are left out. verdicts: no page is "
        "copied, verdicts and dead letters go out alone; the topic deduplicated is not needed. count: only verdicts go "
        "out, neither pages nor dead letters, to compare a topics.generation with another. Change it to what the "
        "reader of the output needs.",
    )


class FindingsSettings(Section):
    """What copies tell of the page that they are copies of, on the topic findings."""

    soft_404_places: int = setting(
        9,
        "If the same text with status 200 comes from this many unrelated addresses of one host, it is no page (kind "
        "soft-404). A smaller number finds more such texts, but also pages that are only reached in many ways. 0: "
        "never. Change it if findings wrongly call pages of yours soft-404.",
        unit="addresses",
        ge=0,
        le=1000,
    )
    soft_404_tokens: int = setting(
        250,
        "Most words of a text that can be no page: error pages are short, and a text that a site shows in many places "
        "is mostly longer. Change it if the error pages of your sites are longer.",
        unit="words",
        ge=1,
        le=1_000_000,
    )
    groups: int = setting(
        4096,
        "Groups of copies that each shard remembers for this, those that grew last: mostly 1.4 kB each, 32 at most. 0: "
        "none of the other kinds, only suspects. Change it if memory is short, or if a crawl has many more groups.",
        unit="groups",
        ge=0,
        le=10_000_000,
    )
    suspect_pages: int = setting(
        20,
        "A page is suspect (kind suspect) if it has this many copies of one URL template of its host, with titles that "
        "all differ, and these are nine in ten of the template's pages. Further copies are marked, and neither dropped "
        "nor held against their template. A smaller number finds smaller sites, and marks more true copies. 0: never. "
        "Change it if true copies of one site are marked suspect.",
        unit="pages",
        ge=0,
        le=1000,
    )


class CommitSettings(Section):
    """How much a worker does between two transactions. Each limit ends one."""

    seconds: float = setting(
        1.0,
        "The longest time between transactions. One costs the broker 17 to 250 ms. A worker with a backlog waits this "
        "long, any other worker twice as long as its last transaction took. Change it if the broker is slow.",
        unit="seconds",
        gt=0,
        le=600,
    )
    pages: int = setting(
        1000,
        "Most pages in one transaction, and the most that a crash repeats. Leave it, unless transactions of a fast "
        "crawl are too large for the broker.",
        unit="pages",
        ge=1,
    )
    megabytes: int = setting(
        64,
        "Bytes of pages in flight, from being read to being committed. Bounds memory. Change it if the worker's "
        "memory is short.",
        unit="MiB",
        ge=1,
    )


class MetricsSettings(Section):
    """The Prometheus endpoint: /metrics, /livez, /readyz, /hosts."""

    host: str = setting(
        "127.0.0.1",
        "Address to listen on. This machine only by default; 0.0.0.0 in a container. Change it in a container, or if "
        "Prometheus runs on another machine.",
        pattern=r"^[A-Za-z0-9.:_-]+$",
        example="0.0.0.0",
    )
    port: int = setting(
        9464,
        "Port; 0 takes a free one and prints it. If the port is taken, the worker takes the next free one. Change it "
        "if another program has the port.",
        ge=0,
        le=65535,
    )
    hosts: int = setting(
        50,
        "Hosts whose pages are counted by name: those with the most pages of late, and up to 20 more that bring little "
        "but duplicates; all others count as other. 0: no counts by host. /hosts has the whole table in any case. "
        "Change it if Prometheus is to store fewer series.",
        unit="hosts",
        ge=0,
        le=1000,
    )


class LogSettings(Section):
    """What is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "Least important messages that are shown. Set it to debug for a report of a bug."
    )
    format: Literal["text", "json"] = setting(
        "text",
        "text for people; json, an object a line, for log collectors. Set it to json if a collector reads the log.",
    )


class ShutdownSettings(Section):
    """SIGTERM: finish what is in flight, commit, exit 0."""

    seconds: float = setting(
        20,
        "Time to finish; the next owner repeats what is not finished by then. Keep it below the grace period of the "
        "supervisor. Change it with that grace period.",
        unit="seconds",
        gt=0,
        le=3600,
    )


class Settings(BaseModel):
    """All settings. Equal values, equal behaviour: nothing else configures a worker."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kafka: KafkaSettings = KafkaSettings()
    topics: TopicSettings = TopicSettings()
    page: PageSettings = PageSettings()
    segment: SegmentSettings = SegmentSettings()
    features: FeatureSettings = FeatureSettings()
    fingerprint: FingerprintSettings = FingerprintSettings()
    near: NearSettings = NearSettings()
    index: IndexSettings = IndexSettings()
    output: OutputSettings = OutputSettings()
    findings: FindingsSettings = FindingsSettings()
    commit: CommitSettings = CommitSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()
    shutdown: ShutdownSettings = ShutdownSettings()
