"""Checks the requirements of AWS_MSK_IAM before a connection is made: when one is missing, kafka-python only says that
no broker answers."""

from __future__ import annotations

from typing import Final

from crawler_plugin.wire.errors import UsageError

NEEDED: Final = "AWS_MSK_IAM signs its login with AWS credentials, and "


def require_aws_credentials() -> None:
    """Check that botocore is there, and finds credentials and a region where AWS's tools look for them.

    That is the environment, the files in ``~/.aws``, or the role of the container or machine. The role is requested
    over the network of the machine, which takes a second or two where there is no role.

    Raises:
        UsageError: one of the three is missing.
    """
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError as error:
        raise UsageError(f"{NEEDED}botocore is not installed: pip install 'crawl-dedup-scrapy[msk]'") from error
    session = Session()
    try:
        credentials, region = session.get_credentials(), session.get_config_variable("region")
    except BotoCoreError as error:
        raise UsageError(f"{NEEDED}botocore cannot read them ({error}): correct AWS_PROFILE or ~/.aws") from error
    if credentials is None:
        raise UsageError(
            f"{NEEDED}none were found: give this process a role, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if not region:
        raise UsageError(f"{NEEDED}no region was found: set AWS_DEFAULT_REGION to the cluster's")
