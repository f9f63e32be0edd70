"""A real object store, in this process: moto's S3, reached by s3fs over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of an empty bucket. The environment says where its server is, also for child processes."""
    import fsspec
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "a-test",
        "AWS_SECRET_ACCESS_KEY": "of-a-test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patched:
        for name, value in environment.items():
            patched.setenv(name, value)
        store = fsspec.get_filesystem_class("s3")
        store.clear_instance_cache()
        name = f"crawl-{port}"  # a process has one store, whichever servers it starts
        fsspec.filesystem("s3").mkdir(name)
        yield f"s3://{name}"
        store.clear_instance_cache()
    server.stop()
