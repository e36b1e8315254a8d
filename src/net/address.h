/* Network addresses: which of them belong to the public internet, and ranges of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/str.h"

/* An IP address; IPv4 stands in its IPv4-mapped form, so that one comparison serves both. */
struct ip_address {
    uint8_t bytes[16];
};

/* All addresses that share the first `bits` bits with `base`. */
struct ip_range {
    struct ip_address base;
    unsigned bits;
};

enum { IP_TEXT_SIZE = 46 };

/* Reads "192.0.2.1", "2001:db8::1" or the same in brackets; false when it is none. Forms that
 * programs read differently (octal, "127.1", zone ids) are none. */
bool ip_parse(struct str text, struct ip_address *ret);
/* Reads "10.0.0.0/8", "fd00::/8" or a single address. */
bool ip_range_parse(struct str text, struct ip_range *ret);
/* False for address families without IP addresses. */
bool ip_from_socket_address(const struct sockaddr *address, struct ip_address *ret);
/* Returns `out`. */
const char *ip_format(const struct ip_address *address, char out[IP_TEXT_SIZE]);

bool ip_range_contains(const struct ip_range *range, const struct ip_address *address);
bool ip_is_loopback(const struct ip_address *address);

/* Whether the address can belong to a host of the public internet: not private, loopback, link-local,
 * shared, documentation, multicast or reserved (IANA special-purpose registries), also when an IPv4
 * address is wrapped in an IPv6 one (mapped, NAT64, 6to4). */
bool ip_is_public(const struct ip_address *address);
