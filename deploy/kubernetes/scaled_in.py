"""Before a pod of a worker ends: if it does not come back, have the worker leave its groups when it has drained.

A worker has the pod's name as its kafka.instance_id, so its groups wait for it until its session ends. That is what a
rolling update wants, and not what a smaller number of replicas does: the verdicts of all wait then. A pod does not
learn which of the two it is, so this asks: a StatefulSet that wants fewer pods, or is deleted, does not bring this one
back.

If the answer does not come, it ends with 1, which Kubernetes reports as the event FailedPreStopHook with these words,
and the worker keeps its places: then `crawl-dedup leave POD`, in a pod that stays, gives them to the others.
"""

import json
import os
import signal
import ssl
import sys
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SECONDS = 3
"""What the question may take of terminationGracePeriodSeconds."""
WORKER = 1
"""The container's first process is the worker itself."""


def comes_back(pod: str) -> bool:
    """Whether its StatefulSet still wants a pod of this name.

    Raises:
        OSError: the API server does not say.
    """
    name, _, number = pod.rpartition("-")
    namespace, token = ((ACCOUNT / file).read_text().strip() for file in ("namespace", "token"))
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    address = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    asked = Request(
        f"{address}/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}",
        headers={"Authorization": f"Bearer {token}"},
    )
    try:
        with urlopen(asked, timeout=SECONDS, context=ssl.create_default_context(cafile=ACCOUNT / "ca.crt")) as answer:
            found = json.load(answer)
    except HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return False
        raise
    return "deletionTimestamp" not in found["metadata"] and int(number) < found["spec"]["replicas"]


if __name__ == "__main__":
    try:
        stays = comes_back(os.environ["DEDUP_KAFKA__INSTANCE_ID"])
    except (OSError, LookupError, ValueError) as error:
        sys.exit(f"cannot find out whether this pod comes back, so its worker keeps its places: {error!r}")
    if not stays:
        os.kill(WORKER, signal.SIGUSR1)
