#!/bin/sh
# Starts the worker of the image, or one of its commands: numba reads what it has compiled only from a folder that it may
# write to, so what the image brings goes there first.
set -eu
compiled=/opt/crawl-dedup/compiled
if [ -d "$compiled" ] && [ ! -e "$NUMBA_CACHE_DIR" ]; then
    cp -R "$compiled" "$NUMBA_CACHE_DIR"
fi
exec python -m worker "$@"
