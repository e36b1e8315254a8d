/* Where outgoing requests may go. Only the public internet, unless the operator names a host or a
 * range: so that a URL given by a user cannot reach what only this machine can reach. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/option.h"
#include "base/str.h"
#include "net/address.h"

struct net_settings {
    struct option_list allow; /* hosts, host:port, "*.domain", addresses, ranges */
    const char *proxy;        /* NULL: as the environment says; "none": none */
    const char *ca_file;      /* NULL: the system's certificates */
    int64_t connect_timeout;  /* microseconds */
};
extern const struct option_section net_section; /* "net" */

struct net_rule;

/* Immutable once made; lives as long as the arena it was made in. */
struct net_policy {
    const struct net_rule *rules;
    size_t rule_count;
    const char *http_proxy, *https_proxy; /* NULL: none */
    const char *no_proxy;                 /* suffixes parted by commas; NULL: none */
    const char *ca_file;
    int64_t connect_timeout;
};

/* Reads the settings and, for the proxy, the environment (https_proxy, http_proxy, no_proxy and
 * their upper-case forms). IBID_EINVAL names an entry of net.allow that is neither host nor range. */
ibid_code net_policy_init(const struct net_settings *settings, struct arena *arena, struct net_policy *ret,
                          ibid_error *err) MUST_CHECK;

/* `policy` and in addition the host and port of `url`, which the operator has configured (the
 * endpoint of an embedder, say). IBID_EINVAL when it is no http or https URL. */
ibid_code net_policy_with_url(const struct net_policy *policy, const char *url, struct arena *arena,
                              struct net_policy *ret, ibid_error *err) MUST_CHECK;

/* Whether a connection to `address` may be made for the sake of `host`:`port`. */
bool net_policy_allows(const struct net_policy *policy, struct str host, unsigned port,
                       const struct ip_address *address);

/* For requests through a proxy, where the proxy resolves names (and is trusted to keep private
 * ranges closed): false for addresses and names that are private on their face. */
bool net_policy_allows_unresolved(const struct net_policy *policy, struct str host, unsigned port);

/* The proxy for a request, or NULL. Loopback never goes through one. */
const char *net_policy_proxy(const struct net_policy *policy, bool https, struct str host);
