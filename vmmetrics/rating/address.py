"""Where raters reach a study: on this machine, else by TLS or behind a proxy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from vmmetrics.errors import SetupError
from vmmetrics.utils.request_rules import HOST, NAMES


@dataclass(frozen=True, slots=True)
class Address:
    """Where raters reach a study.

    Attributes:
        host: Address to listen on.
        port: Port; 0 takes a free one.
        owner_port: Port of the owner's page; 0 takes a free one.
        public: Address that raters see (``https://rate.lab.org``), behind a proxy or by TLS; "" for this machine.
        certificate: File of the TLS certificate, or None.
        key: File of its key, or None.
    """

    host: str = HOST
    port: int = 0
    owner_port: int = 0
    public: str = ""
    certificate: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Refuse to serve others without TLS or a proxy.

        Raises:
            SetupError: Others would be served in the clear, or the public address is none.
        """
        names = {name.strip("[]") for name in NAMES}
        if self.host not in names and not self.public:
            raise SetupError(
                f"{self.host} serves other machines: name the address that raters see (https://...), and give "
                "--tls-cert and --tls-key, or --behind-proxy"
            )
        parts = urlsplit(self.public)
        if self.public and (parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query):
            raise SetupError(f"Expected an address such as https://rate.example.org but got {self.public}")
        if (self.certificate is None) != (self.key is None):
            raise SetupError("a certificate and its key go together")

    @property
    def names(self) -> tuple[str, ...]:
        """Host names that requests of raters may have."""
        return NAMES if not self.public else (*NAMES, urlsplit(self.public).hostname or "")
