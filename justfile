# What one does here, most of it; `just` alone lists it, CONTRIBUTING.md says when. All of it runs in .venv-test.

python := ".venv-test/bin/python"
bin := ".venv-test/bin"

# The folder in which `python -m tests` compiles: tests that need compiled code take it from there.
export NUMBA_CACHE_DIR := justfile_directory() / ".venv-test/kernels"

# Tests that run whole commands and crawls, or play for long.
whole := "benchmarks cli compose crawler_plugin demo evaluate fuzz local quality scan serve shown simulation test_dependencies.py test_examples.py test_skips.py"

_list:
    @just --list --unsorted

# make .venv-test, with everything that tests need
setup:
    python3 -m venv .venv-test
    {{bin}}/pip install -q -e '.[test]'
    {{bin}}/pip install -q --no-deps -e ./crawler_plugin

# every check that CI makes
all *arguments:
    {{python}} -m tests {{arguments}}

# the parts, in some 3 minutes of two idle cores: without Kafka, Prometheus, Redis, chromium and the folders of `whole`
test *arguments:
    {{python}} -m pytest -n 3 --dist loadfile -m 'not (cluster or prometheus or redis or browser or long)' \
        {{prepend("--ignore=tests/", whole)}} {{arguments}}
    @echo 'left out: tests of {{whole}} and of other programs: `just all` runs them'

# the share of lines that the tests of `just test` run, without functions that numba compiles
coverage:
    just test --cov=worker --cov=crawler_plugin --cov-report=term:skip-covered

# the tests that each take half a minute or more
long *arguments:
    {{python}} -m pytest -n 3 --dist loadfile -m long {{arguments}}

# lint and format, types, import rules
lint:
    {{bin}}/ruff check --fix .
    {{bin}}/ruff format .
    {{python}} -m mypy
    {{bin}}/lint-imports --no-logo

# config.yaml, tables of the handbook, dashboards and rules, from what they are generated of
generate:
    {{python}} -m tools.docs --write
    {{python}} -m tools.deploy.grafana --write
    {{python}} -m tools.deploy.prometheus_operator --write

# the handbook, at http://127.0.0.1:8000
docs:
    {{bin}}/mkdocs serve

# schedules against the protocol: just simulate --schedules 20000
simulate *arguments:
    {{python}} -m tools.simulation {{arguments}}

# random faults of real workers and a real broker: just nemesis --minutes 20
nemesis *arguments:
    {{python}} -m tools.cluster.nemesis {{arguments}}

# quality against its floors, on the sets that DEDUP_TEST_DATA names
quality *arguments:
    {{python}} -m tools.quality {{arguments}}

# measure anew what docs/benchmarks and docs/quality show, hours on an idle machine: just figures ../shared/data/dev
figures documents:
    git log -1 --format='measured on commit %h of %as'
    {{python}} -m tools.quality --publish
    {{python}} -m benchmarks index --out docs/benchmarks/index-peers.md
    {{python}} -m benchmarks scan --docs {{documents}} --out docs/benchmarks/scan.md
    {{python}} -m benchmarks crawl-rate --out docs/benchmarks/crawl-rate.md
    {{python}} -m benchmarks hostile --out docs/benchmarks/hostile.md
    {{python}} -m benchmarks ceiling --page-us 770 --out docs/benchmarks/order.md
    {{python}} -m tools.crawls.trap_crawl --out docs/benchmarks/traps.md
    {{python}} -m tools.cluster.soak --minutes 30 --out docs/benchmarks/memory.md
    {{python}} -m tools.cluster.nemesis --minutes 20 --docs {{documents}} --out docs/faults.md
    {{python}} -m tools.cluster.nemesis --minutes 20 --brokers 3 --docs {{documents}} --out docs/faults.md
    {{python}} -m tools.cluster.month --minutes 60 --out docs/faults.md
    @echo 'these print their figures: put them into the pages of docs/benchmarks that name the command'
    {{python}} -m benchmarks fingerprint --docs {{documents}}
    {{python}} -m benchmarks latency --docs {{documents}}
    {{python}} -m benchmarks serve --docs {{documents}}
    {{python}} -m benchmarks restore
    {{python}} -m benchmarks failover
    {{python}} -m benchmarks live-copy
    {{python}} -m benchmarks claim-cost
    {{python}} -m benchmarks crowded-block
    {{python}} -m benchmarks senders
    {{python}} -m benchmarks deciders
    {{python}} -m benchmarks worst-pages

# the pictures of the console in docs/images, of a crawl that is played for seven minutes
pictures *arguments:
    {{python}} -m tools.deploy.console_pictures --minutes 7 --out docs/images {{arguments}}

# the two distributions as they are published, in dist/, from a copy of the last commit
build:
    #!/usr/bin/env bash
    set -euo pipefail
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    git archive HEAD | tar -x -C "$copy"
    out=$PWD/dist
    cd "$copy"
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
    sed -i "s| @ {root:uri}/crawler_plugin|==$version|" pyproject.toml
    python3 -m venv build-env
    build-env/bin/pip install -q build twine
    build-env/bin/python -m build --outdir "$out" crawler_plugin
    build-env/bin/python -m build --outdir "$out" .
    build-env/bin/python -m twine check --strict "$out"/*
