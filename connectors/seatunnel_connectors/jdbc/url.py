"""Parses JDBC and SQLAlchemy URLs, keeps secrets separate and refuses dangerous parameters."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from seatunnel_py.api import Secret

DIALECTS = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
PORTS = {"postgres": 5432, "mysql": 3306}

# With these a server, or a job file, could make a driver read files, load classes or run statements.
REFUSED = {
    "allowloadlocalinfile": "it lets the server read this machine's files",
    "allowloadlocalinfileinpath": "it lets the server read this machine's files",
    "allowurlinlocalinfile": "it lets the server make this machine open addresses",
    "allowlocalinfile": "it lets the server read this machine's files",
    "local_infile": "it lets the server read this machine's files",
    "autodeserialize": "it runs code that the server sends",
    "queryinterceptors": "it loads code by name",
    "statementinterceptors": "it loads code by name",
    "exceptioninterceptors": "it loads code by name",
    "connectionlifecycleinterceptors": "it loads code by name",
    "authenticationplugins": "it loads code by name",
    "propertiestransform": "it loads code by name",
    "clientinfoprovider": "it loads code by name",
    "socketfactory": "it loads code by name",
    "socketfactoryarg": "it loads code by name",
    "sslfactory": "it loads code by name",
    "sslfactoryarg": "it loads code by name",
    "sslpasswordcallback": "it loads code by name",
    "authenticationpluginclassname": "it loads code by name",
    "loggerfile": "it writes files",
    "init": "it runs hidden statements",
    "init_command": "it runs hidden statements",
    "initsql": "it runs hidden statements",
    "sessionvariables": "it runs hidden statements",
    "read_default_file": "it reads files of this machine",
    "plugin_dir": "it loads code by name",
    "service": "it reads settings from a file of this machine",
    "passfile": "it reads secrets from a file of this machine",
}

# Parameters that tune the Java drivers and have no effect here.
WITHOUT_EFFECT = frozenset(
    """adaptivefetch adaptivefetchmaximum adaptivefetchminimum allowencodingchanges allowmultiqueries
    allowpublickeyretrieval alwayssendsetisolation assumeminserverversion autocommit autoreconnect autosave
    binarytransfer binarytransferdisable binarytransferenable cacheprepstmts cachecallablestmts
    cacheresultsetmetadata cacheserverconfiguration characterencoding characterresultset cleanupsavepoints
    connectioncollation databasemetadatacachefields databasemetadatacachefieldsmib defaultfetchsize
    defaultrowfetchsize disablecolumnsanitiser elidesetautocommits emulateunsupportedpstmts escapesyntaxcallmode
    failoverreadonly groupstartupparameters gssencmode gsslib hideunprivilegedobjects holdresultsopenoverstatementclose
    includethreaddumpindeadlockexceptions jaasapplicationname jaaslogin loadbalancehosts loggerlevel
    logservererrordetail logunclosedconnections maintaintimestats maxreconnects maxresultbuffer maxrows
    maxsendbuffersizenull metadatacacheuppercase netwriteTimeout nullcatalogmeanscurrent nulldatabasemeanscurrent
    nullnamepatternmatchesall paranoid pinglobaltxtophysicalconnection preparethreshold
    preparedstatementcachequeries preparedstatementcachesizemib prepstmtcachesize prepstmtcachesqllimit
    preferquerymode readonly readonlymode receivebuffersize replication rewritebatchedinserts
    rewritebatchedstatements rollbackonpooledconnection sendbuffersize servertimezone serverrsapublickeyfile
    slowquerythresholdmillis stringtype tcpnodelay tcprcvbuf tcpsndbuf tinyint1isbit transformedbitisboolean
    unknownlength usecompression usecursorfetch usefastdateparsing useinformationschema uselocalsessionstate
    uselocaltransactionstate useoldaliasmetadatabehavior useserverprepstmts usespnego useunicode usejdbccompliant
    usejdbccomplianttimezoneshift uselegacydatetimecode useaffectedrows xmlfactoryfactory yearisdatetype
    zerodatetimebehavior connectionattributes connectiontimezone forceconnectiontimezonetosession
    preserveinstants""".lower().split()
)


@dataclass(frozen=True, slots=True)
class Address:
    """Address and credentials of a database. Picklable; its ``repr`` holds no secret.

    ``path`` is the file of a SQLite database; ``raw`` the text of a SQLAlchemy URL without its password. ``parameters``
    keep the names of the job file, in lower case; a connection timeout among them overrides ``connect_seconds``.
    """

    dialect: str
    host: str = ""
    port: int = 0
    database: str = ""
    user: str = ""
    password: Secret | None = None
    path: str = ""
    raw: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    connect_seconds: int = 30

    @property
    def display(self) -> str:
        """The address for display, without credentials."""
        if self.dialect == "sqlite":
            return self.path
        if self.dialect == "sqlalchemy":
            port = f":{self.port}" if self.port else ""
            return f"{self.raw.partition('://')[0]}://{self.host}{port}/{self.database}"
        return f"{','.join(f'{host}:{port}' for host, port in self.places)}/{self.database}"

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server in the address; one of them is connected to."""
        listed = self.parameters.get("hosts", "")
        return (
            tuple(_place(one, PORTS[self.dialect]) for one in listed.split(","))
            if listed
            else ((self.host, self.port),)
        )

    @property
    def secret(self) -> str:
        return self.password.get_secret_value() if self.password else ""

    @property
    def identity(self) -> tuple[object, ...]:
        """Key that is equal for connections to the same place as the same user."""
        return (
            self.dialect, self.host, self.port, self.database, self.user, self.secret, self.path, self.raw,
            tuple(sorted(self.parameters.items())),
        )  # fmt: skip


def parse_url(url: str) -> Address:
    """Parse a JDBC or SQLAlchemy URL. Raises ValueError with the fault, without repeating credentials."""
    text = url.strip()
    if text.lower().startswith("jdbc:"):
        return _parse_jdbc(text[5:])
    scheme, separator, _ = text.partition("://")
    if not separator:
        raise ValueError("is neither a JDBC URL (jdbc:postgresql://host/db) nor a SQLAlchemy URL (scheme://…)")
    name = scheme.lower().partition("+")[0]
    if name == "sqlite":
        return _parse_sqlite(text.split("://", 1)[1].removeprefix("/"))
    if name in DIALECTS:
        return _parse_network(name, text)
    return _parse_other(text)


def _parse_jdbc(text: str) -> Address:
    scheme, _, rest = text.partition(":")
    name = scheme.lower()
    if name not in DIALECTS:
        near = difflib.get_close_matches(name, DIALECTS, n=1)
        hint = f"; did you mean jdbc:{near[0]}:?" if near else ""
        raise ValueError(
            f"the JDBC scheme {scheme!r} is not known{hint}; known are {', '.join(sorted(DIALECTS))}; "
            "for other databases give a SQLAlchemy URL such as oracle+oracledb://host/…"
        )
    if name == "sqlite":
        return _parse_sqlite(rest)
    if not rest.startswith("//"):
        # jdbc:postgresql:database and jdbc:postgresql:/ mean this machine.
        rest = "//localhost/" + rest.lstrip("/")
    return _parse_network(name, f"{name}:{rest}")


def _parse_sqlite(rest: str) -> Address:
    path, _, query = rest.removeprefix("file:").partition("?")
    if not path or path == ":memory:":
        raise ValueError("a SQLite database in memory cannot be shared with workers: give a file")
    return Address("sqlite", path=unquote(path), database="main", parameters=_parameters(query))


def _parse_network(name: str, text: str) -> Address:
    dialect = DIALECTS[name]
    parts = urlsplit(text)
    user, password, places = "", None, parts.netloc
    if "@" in places:
        credentials, _, places = places.rpartition("@")
        user, _, secret = credentials.partition(":")
        user, password = unquote(user), Secret(unquote(secret)) if secret else None
    host, port = _place(places.split(",")[0], PORTS[dialect])
    parameters = _parameters(parts.query)
    if "," in places:
        parameters = {**parameters, "hosts": places}
    user = parameters.pop("user", parameters.pop("username", user))
    if "password" in parameters:
        password = Secret(parameters.pop("password"))
    database = unquote(parts.path.strip("/"))
    return Address(dialect, host, port, database, user, password, parameters=parameters)


def _place(text: str, port: int) -> tuple[str, int]:
    host, _, digits = text.rpartition(":") if ":" in text and not text.endswith("]") else (text, "", "")
    if digits and not digits.isdigit():
        raise ValueError(f"the port {digits!r} is not a number")
    return host.strip("[]") or "localhost", int(digits) if digits else port


def _parse_other(text: str) -> Address:
    parts = urlsplit(text)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    place = parts.netloc.rpartition("@")[2]
    raw = text.replace(parts.netloc, place, 1) if "@" in parts.netloc else text
    _parameters(parts.query)
    return Address(
        "sqlalchemy", parts.hostname or "", parts.port or 0, parts.path.strip("/"), user,
        Secret(password) if password else None, raw=raw,
    )  # fmt: skip


def _parameters(query: str) -> dict[str, str]:
    found = {name.strip().lower(): value for name, value in parse_qsl(query, keep_blank_values=True)}
    refuse_dangerous(found)
    return found


def refuse_dangerous(parameters: Mapping[str, str]) -> None:
    """Raise ValueError for parameters that give a server or a job file access to more than rows."""
    bad = [name for name in parameters if name.lower() in REFUSED]
    if bad:
        raise ValueError(
            "; ".join(f"the parameter {name!r} is refused: {REFUSED[name.lower()]}" for name in sorted(bad))
        )


def resolve(
    url: str, user: str | None, password: Secret | None, properties: Mapping[str, str], dialect: str | None = None
) -> Address:
    """The address that a step uses: its options override the URL."""
    plain = dialect == "sqlalchemy" and "://" in url and not url.lower().startswith("jdbc:")
    address = _parse_other(url.strip()) if plain else parse_url(url)
    refuse_dangerous(properties)
    extra = {name.lower(): value for name, value in properties.items()}
    user = user or extra.pop("user", None) or address.user
    secret = extra.pop("password", None)
    password = password or (Secret(secret) if secret else address.password)
    chosen = DIALECTS.get((dialect or "").lower(), address.dialect)
    return Address(
        chosen, address.host, address.port, address.database, user, password, address.path, address.raw,
        {**address.parameters, **extra},
    )  # fmt: skip


def report_unknown(address: Address, known: frozenset[str]) -> tuple[str, ...]:
    """Log the names of unknown parameters, and return them."""
    unknown = tuple(sorted(set(address.parameters) - known - WITHOUT_EFFECT - {"hosts"}))
    if unknown:
        import logging  # rarely needed, and loaded by no other part of `check`

        log = logging.getLogger("seatunnel_py.connectors.jdbc")
        log.warning("jdbc %s: parameters without effect here: %s", address.display, ", ".join(unknown))
    return unknown
