"""The campaign against lamr: what strangers' repositories, other users, tenants, servers and callers try, as a table.

`make attack` runs all of it; `make test` runs the cases that take a second or two."""
