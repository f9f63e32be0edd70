"""Every setting of the plugin, declared once: its default, its kind, and the words of the handbook.

From this list settings are read, errors are worded, names that are none are told, and the handbook's table is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from crawler_plugin.config.kinds import (
    ADDRESS,
    COMPRESSION,
    CONNECTION,
    FIELDS,
    JOB,
    MEDIA_TYPES,
    SERVERS,
    SHARE,
    STATUSES,
    YES_OR_NO,
    SettingKind,
    choice,
    name,
    path,
    seconds,
    whole_number,
)
from crawler_plugin.wire.topics import DEFAULT_PREFIX

PREFIX: Final = "DEDUP_"


class Setting(NamedTuple):
    """One line of the handbook's table."""

    default: Any
    kind: SettingKind
    meaning: str

    @property
    def allowed(self) -> str:
        """What may be written."""
        return self.kind.allowed


SETTINGS: Final[Mapping[str, Setting]] = {
    "DEDUP_ENABLED": Setting(
        True, YES_OR_NO, "False switches the whole plugin off; its other settings are not even read then."
    ),
    "DEDUP_MODE": Setting(
        "kafka",
        choice("kafka", "local"),
        "`kafka`: pages are published, and workers judge them. `local`: a process that the crawl starts judges them, "
        "without Kafka, and each item gets the verdict on its page.",
    ),
    "DEDUP_STATE": Setting(
        None,
        path("the path of a folder, in which %(spider)s and %(job)s stand for their names; needs DEDUP_MODE local"),
        "The folder in which `local` keeps its state of judged pages, for the next crawl. One crawl at a time may use "
        "it. By default `dedup` in `JOBDIR`; without a `JOBDIR` only the pages of this crawl are compared with each "
        "other.",
    ),
    "DEDUP_CONFIG": Setting(
        None,
        path("the path of a file; needs DEDUP_MODE local"),
        "The worker's settings for `local`, such as `near.k`. By default they are found [as a worker finds "
        "them](settings.md).",
    ),
    "DEDUP_LOCAL_PYTHON": Setting(
        None,
        path("the path of a Python interpreter; needs DEDUP_MODE local"),
        "The interpreter that judges the pages of `local`; its environment has crawl-dedup. By default that of the "
        "crawl.",
    ),
    "DEDUP_AWAIT": Setting(
        0.0,
        seconds(3600),
        "How long an item waits for the worker's verdict on its page. Its field `dedup` gets the verdict, or None if "
        "there is none by then. 0: items do not wait. With `DEDUP_MODE` local they always wait.",
    ),
    "DEDUP_AWAIT_RESPONSES": Setting(
        False,
        YES_OR_NO.but("True needs DEDUP_CAPTURE, and DEDUP_AWAIT or DEDUP_MODE local"),
        "Whether callbacks wait, too: each is called with the verdict on its response in `response.meta['dedup']`, or "
        "after `DEDUP_AWAIT` seconds with the reason why there is none.",
    ),
    "DEDUP_GENERATION": Setting(
        "",
        name(30),
        "The `topics.generation` of the workers whose verdicts `DEDUP_AWAIT` waits for.",
    ),
    "DEDUP_DROP": Setting(
        False,
        YES_OR_NO.but("True needs DEDUP_AWAIT or DEDUP_MODE local"),
        "Whether items of near-duplicates are dropped (`DropItem`). Those of refetches and of suspect originals pass.",
    ),
    "DEDUP_DROP_REFETCHES": Setting(
        False,
        YES_OR_NO.but("True needs DEDUP_DROP"),
        "Whether items of refetches are dropped, too: pages near to an earlier one of the same URL.",
    ),
    "DEDUP_DROPPED": Setting(
        None,
        path("the path of a file, in which %(spider)s and %(job)s stand for their names; needs DEDUP_DROP"),
        "The file to which dropped items are written, with their verdicts, as JSON lines; each crawl appends its own. "
        "An item that cannot be written there passes. By default dropped items are not kept.",
    ),
    "DEDUP_DRY_RUN": Setting(
        False,
        YES_OR_NO,
        "True drops and postpones nothing: items of `DEDUP_DROP` pass, requests of `DEDUP_FEEDBACK` are made. What "
        "would have become of them is counted and logged.",
    ),
    "DEDUP_FEEDBACK": Setting(
        False,
        YES_OR_NO.but("True needs the add-on"),
        "Whether requests are decided by the verdicts on earlier pages of their URL template. With DEDUP_MODE kafka "
        "the crawl then reads the workers' verdicts, whether items wait for theirs or not.",
    ),
    "DEDUP_FEEDBACK_ACTION": Setting(
        "deprioritise",
        choice("deprioritise", "sample", "drop"),
        "What becomes of a request whose template gives only copies: `deprioritise` puts it behind all others, `drop` "
        "drops it, `sample` drops only as many of them as are certainly copies. Requests that explored pages [do not "
        "allow](../how-to/learn.md#what-it-does-to-requests) to drop are put behind all others, too.",
    ),
    "DEDUP_FEEDBACK_MIN": Setting(
        20, whole_number(20, 10**6), "Least number of verdicts by which a request is postponed or dropped."
    ),
    "DEDUP_FEEDBACK_EXPLORE": Setting(
        0.05,
        SHARE,
        "Share of such requests that the crawl makes all the same, to see whether new content has come.",
    ),
    "DEDUP_FEEDBACK_BUDGET": Setting(
        0,
        whole_number(0, 10**9),
        "Most requests of one template, or of all combinations of two or more parameters at one path. Further ones are "
        "dropped, whatever they give: against traps whose pages look new. 0: any number.",
    ),
    "DEDUP_FEEDBACK_DRY_RUN": Setting(
        False,
        YES_OR_NO,
        "True makes every request, and only counts what would have become of it; so does `DEDUP_DRY_RUN`.",
    ),
    "DEDUP_FEEDBACK_FROM": Setting(
        None,
        path("the path of a folder"),
        "The `JOBDIR` of an earlier crawl. This crawl begins with its knowledge if its own `JOBDIR` has none.",
    ),
    "DEDUP_FEEDBACK_SEED": Setting(
        0,
        whole_number(0, 2**63 - 1),
        "Picks the requests that are explored: the same number picks the same ones.",
    ),
    "DEDUP_CAPTURE": Setting(
        False,
        YES_OR_NO.but("True needs the add-on"),
        "Whether the response of every callback is published, or judged, whatever the spider yields. The fields of "
        "items are not read then.",
    ),
    "DEDUP_CAPTURE_TYPES": Setting(
        "text/*, application/xml, application/*+xml, application/json, application/*+json",
        MEDIA_TYPES,
        "Responses that are captured, by their header `Content-Type`; responses without this header are captured if "
        "Scrapy takes them for text.",
    ),
    "DEDUP_CAPTURE_STATUS": Setting(
        "200-299",
        STATUSES,
        "Responses that are captured, by their status. A callback gets other statuses than 200 to 299 only if the "
        "spider asks for them (`handle_httpstatus_list`).",
    ),
    "DEDUP_BOOTSTRAP_SERVERS": Setting("127.0.0.1:9092", SERVERS, "Kafka brokers to start from."),
    "DEDUP_TOPIC_PREFIX": Setting(
        DEFAULT_PREFIX,
        name(200),
        "The beginning of the topic's name, as the worker's `topics.prefix`: pages go to dedup.pages.",
    ),
    "DEDUP_FIELDS": Setting(
        {},
        FIELDS,
        "The names of item fields that the plugin reads, if they differ from its own: `{'body': 'html'}`. The verdict "
        "goes to the field for `dedup`; None there keeps it out of items.",
    ),
    "DEDUP_JOB": Setting(
        None,
        JOB,
        "Name of the crawl in the header `job`. Without it: the environment's `SCRAPY_JOB` (set by scrapyd), "
        "else the folder name of `JOBDIR`, else the time of the start in UTC.",
    ),
    "DEDUP_BUFFER_BYTES": Setting(
        64 * 1024 * 1024,
        whole_number(4096, 1024**5, "a whole number, at least DEDUP_MAX_PAGE_BYTES"),
        "Pages in memory that Kafka has not confirmed yet, in bytes; 1 KiB is added for each. At this limit "
        "`DEDUP_ON_FULL` says what happens.",
    ),
    "DEDUP_ON_FULL": Setting(
        "block",
        choice("block", "spool", "fail"),
        "At the limit of `DEDUP_BUFFER_BYTES`: `block` makes the crawl wait for Kafka, `spool` writes further pages to "
        "the spool, `fail` closes the crawl with the reason `dedup_full`. If one of them no longer helps, the next in "
        "this order follows: block (after `DEDUP_GIVE_UP_SECONDS`), spool (if it takes the page), fail.",
    ),
    "DEDUP_GIVE_UP_SECONDS": Setting(
        300.0,
        seconds(365 * 86400),
        "How long a crawl whose buffer is full waits while Kafka confirms no page at all.",
    ),
    "DEDUP_REQUIRED": Setting(
        False,
        YES_OR_NO,
        "True closes the crawl at its start if the broker, the topic or the right to write to it is missing.",
    ),
    "DEDUP_SPOOL": Setting(
        None,
        path("the path of a file, in which %(spider)s and %(job)s stand for their names, or none"),
        "The file for pages that Kafka has not confirmed when the crawl ends. The next crawl with the same spool that "
        "publishes to the same topic sends them, or `python -m crawler_plugin.spool FILE`. By default `dedup.spool` in "
        "`JOBDIR`, without one `dedup-%(spider)s.spool` in the working directory; crawls that run at the same time "
        "take `dedup-%(spider)s~2.spool` and so on, and the next crawl sends the pages left in all of them. `none` "
        "switches it off.",
    ),
    "DEDUP_SPOOL_BYTES": Setting(
        1024**3,
        whole_number(0, 1024**5),
        "How large that file may become. HTML takes a quarter of its size there.",
    ),
    "DEDUP_MAX_PAGE_BYTES": Setting(
        8 * 1024 * 1024 - 16 * 1024,
        whole_number(4096, 1024**3),
        "Largest record: body, URL and headers. Keep it 16 KiB below the worker's `topics.max_message_bytes`.",
    ),
    "DEDUP_OVERSIZE": Setting(
        "truncate", choice("truncate", "reject"), "What becomes of a larger page: its beginning is sent, or nothing."
    ),
    "DEDUP_FLUSH_TIMEOUT": Setting(
        30.0,
        seconds(86400),
        "How long the end of the crawl waits for confirmations; pages that are still unconfirmed then go to the spool.",
    ),
    "DEDUP_COMPRESSION": Setting(
        "zstd",
        COMPRESSION,
        "How pages are compressed on their way and on the broker.",
    ),
    "DEDUP_STATS_PORT": Setting(
        None,
        ADDRESS,
        "Where Prometheus finds the metrics of the running crawl, as `/metrics`: this port of 127.0.0.1 or of the "
        "named host, or the next free one; the crawl's log says which. Without it no port is opened.",
    ),
    "DEDUP_KAFKA_OPTIONS": Setting(
        {},
        CONNECTION,
        "For example `{'security_protocol': 'SASL_SSL', 'sasl_mechanism': 'PLAIN', 'sasl_plain_username': …, "
        "'sasl_plain_password': …, 'ssl_cafile': …}`. The worker's settings `sasl_oauth_…` are taken, too, under the "
        "same names: see [how to log in](../how-to/log-in.md).",
    ),
}
"""Every setting of the plugin."""
