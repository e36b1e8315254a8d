#include "net/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "net/url.h"

struct net_rule {
    bool is_range;
    struct ip_range range;
    struct str host; /* without brackets; of "*.domain" the part from the dot */
    bool subdomains; /* the host stands for all below it */
    unsigned port;   /* 0: any */
};

static const struct option net_options[] = {
    {.name = "allow",
     .type = OPTION_LIST,
     .offset = offsetof(struct net_settings, allow),
     .placeholder = "HOST|RANGE,...",
     .help = "Hosts (name, name:port, *.domain) and address ranges (10.0.0.0/8) in private networks that "
             "outgoing requests may reach. Public hosts need no entry."},
    {.name = "proxy",
     .type = OPTION_STRING,
     .offset = offsetof(struct net_settings, proxy),
     .placeholder = "URL",
     .help =
         "Proxy for outgoing requests; \"none\" for none. Without it https_proxy, http_proxy and no_proxy "
         "of the environment hold. The proxy resolves names and must keep private ranges closed itself."},
    {.name = "ca_file",
     .type = OPTION_PATH,
     .offset = offsetof(struct net_settings, ca_file),
     .help = "PEM file with the certificates to trust instead of the system's."},
    {.name = "connect_timeout",
     .type = OPTION_DURATION,
     .offset = offsetof(struct net_settings, connect_timeout),
     .default_text = "10s",
     .low = 1e4,
     .high = 300e6,
     .help = "How long making a connection may take."},
    OPTION_END,
};

const struct option_section net_section = {
    .name = "net",
    .help = "Outgoing requests: model downloads, remote embedders, web sources.",
    .table = net_options,
};

static bool parse_rule(struct str text, struct net_rule *ret)
{
    struct net_rule rule = {0};
    if (ip_range_parse(text, &rule.range)) {
        rule.is_range = true;
        *ret = rule;
        return true;
    }
    size_t colon = text.size;
    while (colon > 0 && text.data[colon - 1] != ':' && text.data[colon - 1] != ']')
        colon--;
    struct str host = text;
    if (colon > 0 && text.data[colon - 1] == ':') {
        long long port;
        if (!str_to_int64(str_slice(text, colon, text.size), &port) || port < 1 || port > 65535)
            return false;
        rule.port = (unsigned)port;
        host = str_slice(text, 0, colon - 1);
    }
    if (ip_parse(host, &rule.range.base)) {
        rule.is_range = true;
        rule.range.bits = 128;
    } else if (str_starts_with(host, "*.")) {
        rule.subdomains = true;
        host = str_slice(host, 1, host.size);
    }
    if (!rule.is_range && !url_is_host_name(host))
        return false;
    rule.host = host;
    *ret = rule;
    return true;
}

static const char *environment_proxy(const char *lower, const char *upper)
{
    const char *value = getenv(lower);
    /* HTTP_PROXY in upper case is not read: a CGI environment lets a client set it. */
    if (!value && upper)
        value = getenv(upper);
    return value && *value ? value : NULL;
}

static const char *arena_copy(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static void read_proxy(const struct net_settings *settings, struct arena *arena, struct net_policy *policy)
{
    if (settings->proxy && *settings->proxy) {
        if (strcmp(settings->proxy, "none") != 0)
            policy->http_proxy = policy->https_proxy = arena_strdup(arena, settings->proxy);
        return;
    }
    policy->http_proxy = arena_copy(arena, environment_proxy("http_proxy", NULL));
    policy->https_proxy = arena_copy(arena, environment_proxy("https_proxy", "HTTPS_PROXY"));
    policy->no_proxy = arena_copy(arena, environment_proxy("no_proxy", "NO_PROXY"));
}

ibid_code net_policy_init(const struct net_settings *settings, struct arena *arena, struct net_policy *ret,
                          ibid_error *err)
{
    struct net_policy policy = {
        .rule_count = settings->allow.count,
        .ca_file = settings->ca_file ? arena_strdup(arena, settings->ca_file) : NULL,
        .connect_timeout = settings->connect_timeout > 0 ? settings->connect_timeout : INT64_C(10000000),
    };
    struct net_rule *rules = ARENA_ARRAY(arena, struct net_rule, policy.rule_count);
    for (size_t i = 0; i < policy.rule_count; i++)
        if (!parse_rule(str_trim(arena_str(arena, str_from(settings->allow.items[i]))), &rules[i]))
            return fail(
                err, IBID_EINVAL,
                "net.allow: '%s' is neither a host (name, name:port, *.domain) nor a range (10.0.0.0/8)",
                settings->allow.items[i]);
    policy.rules = rules;
    read_proxy(settings, arena, &policy);
    *ret = policy;
    return IBID_OK;
}

ibid_code net_policy_with_url(const struct net_policy *policy, const char *url, struct arena *arena,
                              struct net_policy *ret, ibid_error *err)
{
    struct url parts;
    TRY(url_parse(url, arena, &parts, err));
    struct net_rule *rules = ARENA_ARRAY(arena, struct net_rule, policy->rule_count + 1);
    if (policy->rule_count > 0)
        memcpy(rules, policy->rules, policy->rule_count * sizeof *rules);
    struct net_rule *added = &rules[policy->rule_count];
    *added = (struct net_rule){.host = parts.host, .port = parts.port};
    if (ip_parse(parts.host, &added->range.base)) {
        added->is_range = true;
        added->range.bits = 128;
    }
    *ret = *policy;
    ret->rules = rules;
    ret->rule_count = policy->rule_count + 1;
    return IBID_OK;
}

static bool host_matches(const struct net_rule *rule, struct str host)
{
    if (!rule->subdomains)
        return str_equal_nocase(rule->host, host);
    return host.size > rule->host.size &&
           str_equal_nocase(str_slice(host, host.size - rule->host.size, host.size), rule->host);
}

bool net_policy_allows(const struct net_policy *policy, struct str host, unsigned port,
                       const struct ip_address *address)
{
    if (ip_is_public(address))
        return true;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct net_rule *rule = &policy->rules[i];
        if (rule->port && rule->port != port)
            continue;
        if (rule->is_range ? ip_range_contains(&rule->range, address) : host_matches(rule, host))
            return true;
    }
    return false;
}

bool net_policy_allows_unresolved(const struct net_policy *policy, struct str host, unsigned port)
{
    struct ip_address address;
    if (ip_parse(host, &address))
        return net_policy_allows(policy, host, port, &address);
    /* A name without a dot is one of the local network. */
    const bool local = str_find(host, '.') == host.size || str_ends_with_nocase(host, ".localhost") ||
                       str_ends_with_nocase(host, ".local") || str_ends_with_nocase(host, ".internal");
    const struct ip_address none = {{0}};
    return !local || net_policy_allows(policy, host, port, &none);
}

static bool is_loopback_host(struct str host)
{
    struct ip_address address;
    if (ip_parse(host, &address))
        return ip_is_loopback(&address);
    return str_equal_nocase(host, STR("localhost")) || str_ends_with_nocase(host, ".localhost");
}

static bool no_proxy_names(const char *list, struct str host)
{
    struct str rest = str_from(list), part;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (str_is(part, "*") || str_equal_nocase(part, host))
            return true;
        struct ip_range range;
        struct ip_address address;
        if (ip_range_parse(part, &range) && ip_parse(host, &address) && ip_range_contains(&range, &address))
            return true;
        if (part.size > 0 && part.data[0] == '.')
            part = str_slice(part, 1, part.size);
        if (part.size > 0 && host.size > part.size && host.data[host.size - part.size - 1] == '.' &&
            str_equal_nocase(str_slice(host, host.size - part.size, host.size), part))
            return true;
    }
    return false;
}

const char *net_policy_proxy(const struct net_policy *policy, bool https, struct str host)
{
    const char *proxy = https ? policy->https_proxy : policy->http_proxy;
    if (!proxy || is_loopback_host(host) || (policy->no_proxy && no_proxy_names(policy->no_proxy, host)))
        return NULL;
    return proxy;
}
