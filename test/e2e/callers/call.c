// Calls servers with the resolver of the C library that it is linked with. "make bin/call-musl" links it with musl.
//
// Each input line is FAMILY HOST PORT PROTOCOL, where FAMILY is any, ipv4 or ipv6 and PROTOCOL is tcp or http. Each
// output line is the answer of the server, without control characters, or "unresolved", or "error: TEXT".
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// dial connects to the first address that accepts. It returns a socket, or -1 and sets errno.
static int dial(const struct addrinfo *address)
{
	const struct timeval limit = {.tv_sec = 5};
	for (; address; address = address->ai_next) {
		int s = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
		if (s < 0)
			continue;
		setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
		if (connect(s, address->ai_addr, address->ai_addrlen) == 0)
			return s;
		int failed = errno;
		close(s);
		errno = failed;
	}
	return -1;
}

// receive prints what the server sends until it closes the connection, which proxies delay after an error status.
static void receive(int s)
{
	char buffer[4096];
	ssize_t n;
	while ((n = recv(s, buffer, sizeof buffer, 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			putchar(buffer[i] >= ' ' ? buffer[i] : ' ');
		if (n > 10 && !strncmp(buffer, "HTTP/1.1 4", 10))
			break;
	}
	if (n < 0)
		printf("error: %s", strerror(errno));
	putchar('\n');
}

static void call(const char *family, const char *host, const char *port, const char *protocol)
{
	struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
	hints.ai_family = !strcmp(family, "ipv4") ? AF_INET : !strcmp(family, "ipv6") ? AF_INET6 : AF_UNSPEC;
	int failed = getaddrinfo(host, port, &hints, &found);
	if (failed == EAI_NONAME || failed == EAI_NODATA) {
		puts("unresolved");
		return;
	}
	if (failed) {
		printf("error: %s\n", gai_strerror(failed));
		return;
	}
	int s = dial(found);
	freeaddrinfo(found);
	if (s < 0) {
		printf("error: %s\n", strerror(errno));
		return;
	}
	char request[512] = "hello\n";
	if (!strcmp(protocol, "http"))
		snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n", host, port);
	send(s, request, strlen(request), MSG_NOSIGNAL);
	if (!strcmp(protocol, "tcp"))
		shutdown(s, SHUT_WR);
	receive(s);
	close(s);
}

int main(void)
{
	char family[8], host[256], port[8], protocol[8];
	while (scanf("%7s %255s %7s %7s", family, host, port, protocol) == 4)
		call(family, host, port, protocol);
	return 0;
}
