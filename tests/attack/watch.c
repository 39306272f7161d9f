/* What a watched command looks up and where it connects to, a line each in the file LAMR_WATCH. Preloaded. */
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
