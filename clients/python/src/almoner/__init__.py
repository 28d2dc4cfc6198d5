"""A client of the Almoner daemon.

>>> from almoner import Client
>>> with Client.connect() as almoner:              # doctest: +SKIP
...     print(almoner.status()["needs_you"])
"""

from . import smallcaps
from .client import Client
from .errors import AlmonerError, ConnectionLost, MalformedRequest, NoAnswer, VersionMismatch
from .protocol import PROTOCOL_VERSION

__all__ = [
    "AlmonerError",
    "Client",
    "ConnectionLost",
    "MalformedRequest",
    "NoAnswer",
    "PROTOCOL_VERSION",
    "VersionMismatch",
    "smallcaps",
]
