"""AWS signatures for Bedrock, with the credentials that the AWS tools use."""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from streamflow.errors import UsageError
from streamflow.requests.request import Request

SERVICE = "bedrock"


class AwsSigner:
    """Signs requests (SigV4) with the credentials of botocore's chain: environment, profile, role.

    A signature holds the time, so every attempt is signed anew.
    """

    def __init__(self, region: str, session: Any = None) -> None:
        self._region = region
        self._session = _botocore_session() if session is None else session

    def sign(self, request: Request) -> Request:
        """The same request with its signature."""
        from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
        from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]

        credentials = self._session.get_credentials()
        if credentials is None:
            raise UsageError(
                "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or "
                "AWS_BEARER_TOKEN_BEDROCK, or pass api_key",
                provider=SERVICE,
            )
        signed = AWSRequest(request.method, request.url, dict(request.headers), data=request.body)
        SigV4Auth(credentials.get_frozen_credentials(), SERVICE, self._region).add_auth(signed)
        headers = {name.lower(): str(value) for name, value in signed.headers.items()}
        headers["host"] = urlsplit(request.url).netloc
        return msgspec.structs.replace(request, headers=headers)

    def __repr__(self) -> str:
        return f"AwsSigner(region={self._region!r})"


def _botocore_session() -> Any:
    try:
        from botocore.session import Session  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError(
            "bedrock without AWS_BEARER_TOKEN_BEDROCK needs botocore: pip install 'streamflow-rx[bedrock]'",
            provider=SERVICE,
        ) from None
    return Session()
