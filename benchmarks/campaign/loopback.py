"""No connection leaves this machine, wherever a made-up redirect leads."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Any

_connect = socket.socket.connect


def stay_on_loopback() -> None:
    """Refuse every connection of this process, and of those forked from it, to an address that is not loopback."""
    socket.socket.connect = _connect_here  # type: ignore[method-assign]


def _connect_here(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6) and not ip_address(address[0]).is_loopback:
        raise ConnectionRefusedError(f"{address[0]} is not loopback")
    _connect(self, address)
