"""A command that is watched: which names it looks up, where it connects to, and what it leaves in a fresh home.

The watch is a small library that is preloaded, built by the C compiler that every machine with `make` has.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.attack.place import Place

_SOURCE = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void say(const char *what, const char *whom) {
  const char *file = getenv("LAMR_WATCH");
  int out = file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  char line[600];
  if (out < 0) return;
  int length = snprintf(line, sizeof line, "%s %.500s\n", what, whom ? whom : "-");
  if (write(out, line, length) < 0) {}
  close(out);
}

static void say_address(const char *what, const struct sockaddr *to) {
  char text[INET6_ADDRSTRLEN] = "";
  if (to == NULL) return;
  if (to->sa_family == AF_INET) inet_ntop(AF_INET, &((struct sockaddr_in *)to)->sin_addr, text, sizeof text);
  else if (to->sa_family == AF_INET6)
    inet_ntop(AF_INET6, &((struct sockaddr_in6 *)to)->sin6_addr, text, sizeof text);
  else return;
  say(what, text);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  say("lookup", node);
  return NEXT(getaddrinfo)(node, service, hints, found);
}
struct hostent *gethostbyname(const char *name) { say("lookup", name); return NEXT(gethostbyname)(name); }
int connect(int fd, const struct sockaddr *to, socklen_t size) {
  say_address("connect", to);
  return NEXT(connect)(fd, to, size);
}
ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
  say_address("sendto", to);
  return NEXT(sendto)(fd, data, size, flags, to, length);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  if (message) say_address("sendmsg", message->msg_name);
  return NEXT(sendmsg)(fd, message, flags);
}
"""
_HERE = ("-", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1")
_OWN = (".cache/lamr/", ".local/state/lamr/", ".config/lamr/", ".claude/")


@functools.cache
def library() -> Path:
    """The watching library, built once.

    Raises:
        RuntimeError: there is no C compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("no C compiler")
    folder = Path(tempfile.mkdtemp(prefix="lamr-watch-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "watch.c").write_text(_SOURCE, encoding="utf-8")
    built = folder / "watch.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", built, folder / "watch.c", "-ldl"], check=True)
    return built


class Watch:
    """What is preloaded into commands of a place, and what it saw."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._log = place.home.parent / "watched"

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of a command that is watched."""
        return {"LD_PRELOAD": str(library()), "LAMR_WATCH": str(self._log)}

    def said(self) -> str:
        """What left this machine, and what of others' or for others' eyes lies in the home; `nothing` if nothing."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        away = sorted({line for line in lines if line.partition(" ")[2] not in _HERE})
        foreign, open_ = [], []
        for path in self._place.home.rglob("*"):
            name = str(path.relative_to(self._place.home))
            if path.is_dir() or path.is_symlink():
                continue
            if not name.startswith(_OWN):
                foreign.append(name)
            elif stat.S_IMODE(os.lstat(path).st_mode) & 0o077:
                open_.append(name)
        parts = {"away": away, "foreign": foreign, "open": open_}
        return (
            "; ".join(f"{what} {', '.join(found)[:300]}" for what, found in parts.items() if found)
            or "nothing"
        )
