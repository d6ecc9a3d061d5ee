"""Binary logs of real MariaDB servers."""
