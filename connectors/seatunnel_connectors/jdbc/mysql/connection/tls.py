"""Decides from a URL whether a connection is encrypted, and whom it trusts.

The parameters are those of the Java drivers: ``sslMode``, and the older ``useSSL``, ``requireSSL`` and
``verifyServerCertificate``; ``sslCa`` and ``serverSslCert`` name a file with the certificate of the authority.
"""

from __future__ import annotations

import ssl

from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import FatalError

_NO = ("false", "0", "no")
_MODES = ("required", "verify_ca", "verify_identity", "trust", "verify-ca", "verify-full")
"""With the spellings of MariaDB's driver."""
_OLDER = ("requiressl", "usessl")


def wants_tls(address: Address) -> bool:
    given = address.parameters
    if mode := given.get("sslmode", "").lower():
        return mode in _MODES
    return any(given.get(name, "").lower() == "true" for name in _OLDER)


def refuses_tls(address: Address) -> bool:
    given = address.parameters
    if mode := given.get("sslmode", "").lower():
        return mode in ("disabled", "disable")
    return given.get("usessl", "").lower() in _NO


def context_of(address: Address) -> ssl.SSLContext:
    """The settings of an encrypted connection. Raises FatalError if the authority's certificate cannot be read."""
    given = address.parameters
    mode = given.get("sslmode", "").lower()
    if not (mode.startswith("verify") or given.get("verifyservercertificate", "").lower() == "true"):
        return unverified()
    authority = given.get("sslca") or given.get("serversslcert")
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:  # errors of its content are such, too
        raise FatalError(
            f"the certificate of the authority, {authority}, cannot be read: {error}",
            "correct sslCa in the url: it names a file in PEM format, which is the same on every machine",
        ) from error
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # a certificate that MySQL makes for itself does not pass it
    context.check_hostname = mode in ("verify_identity", "verify-full")
    return context


def unverified() -> ssl.SSLContext:
    """Settings without authorities: to load those of the machine takes 20 ms, longer than to connect."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
