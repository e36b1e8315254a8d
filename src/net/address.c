#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool is_ipv4(const struct ip_address *address)
{
    return memcmp(address->bytes, mapped_prefix, sizeof mapped_prefix) == 0;
}

static struct ip_address from_ipv4(const uint8_t ipv4[4])
{
    struct ip_address address;
    memcpy(address.bytes, mapped_prefix, sizeof mapped_prefix);
    memcpy(address.bytes + 12, ipv4, 4);
    return address;
}

bool ip_parse(struct str text, struct ip_address *ret)
{
    char copy[IP_TEXT_SIZE];
    if (text.size > 2 && text.data[0] == '[' && text.data[text.size - 1] == ']')
        text = str_slice(text, 1, text.size - 1);
    if (text.size == 0 || text.size >= sizeof copy || memchr(text.data, '\0', text.size))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    uint8_t ipv4[4];
    if (inet_pton(AF_INET, copy, ipv4) == 1) {
        *ret = from_ipv4(ipv4);
        return true;
    }
    struct ip_address address;
    if (inet_pton(AF_INET6, copy, address.bytes) != 1)
        return false;
    *ret = address;
    return true;
}

bool ip_range_parse(struct str text, struct ip_range *ret)
{
    const size_t slash = str_find(text, '/');
    struct ip_range range;
    if (!ip_parse(str_slice(text, 0, slash), &range.base))
        return false;
    range.bits = 128;
    if (slash < text.size) {
        const bool ipv4 = memchr(text.data, ':', slash) == NULL;
        long long bits;
        if (!str_to_int64(str_slice(text, slash + 1, text.size), &bits) || bits < 0 ||
            bits > (ipv4 ? 32 : 128))
            return false;
        range.bits = (unsigned)bits + (ipv4 ? 96 : 0);
    }
    *ret = range;
    return true;
}

bool ip_from_socket_address(const struct sockaddr *address, struct ip_address *ret)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)(const void *)address;
        *ret = from_ipv4((const uint8_t *)&ipv4->sin_addr);
        return true;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)(const void *)address;
        memcpy(ret->bytes, &ipv6->sin6_addr, sizeof ret->bytes);
        return true;
    }
    return false;
}

const char *ip_format(const struct ip_address *address, char out[IP_TEXT_SIZE])
{
    if (is_ipv4(address))
        return inet_ntop(AF_INET, address->bytes + 12, out, IP_TEXT_SIZE);
    return inet_ntop(AF_INET6, address->bytes, out, IP_TEXT_SIZE);
}

bool ip_range_contains(const struct ip_range *range, const struct ip_address *address)
{
    const unsigned whole = range->bits / 8, rest = range->bits % 8;
    if (memcmp(range->base.bytes, address->bytes, whole) != 0)
        return false;
    if (rest == 0)
        return true;
    const unsigned mask = 0xffu << (8 - rest);
    return ((range->base.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

bool ip_is_loopback(const struct ip_address *address)
{
    static const uint8_t loopback6[16] = {[15] = 1};
    if (is_ipv4(address))
        return address->bytes[12] == 127;
    return memcmp(address->bytes, loopback6, sizeof loopback6) == 0;
}

/* IANA IPv4 Special-Purpose Address Registry, with multicast and class E. */
static bool ipv4_is_public(const uint8_t ipv4[4])
{
    static const struct {
        uint32_t base;
        unsigned bits;
    } special[] = {
        {0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},  {0xa9fe0000, 16},
        {0xac100000, 12}, {0xc0000000, 24}, {0xc0000200, 24}, {0xc0586300, 24}, {0xc0a80000, 16},
        {0xc6120000, 15}, {0xc6336400, 24}, {0xcb007100, 24}, {0xe0000000, 3},
    };
    const uint32_t value =
        (uint32_t)ipv4[0] << 24 | (uint32_t)ipv4[1] << 16 | (uint32_t)ipv4[2] << 8 | (uint32_t)ipv4[3];
    for (size_t i = 0; i < COUNT_OF(special); i++)
        if ((value ^ special[i].base) >> (32 - special[i].bits) == 0)
            return false;
    return true;
}

bool ip_is_public(const struct ip_address *address)
{
    const uint8_t *bytes = address->bytes;
    static const uint8_t nat64_prefix[12] = {0x00, 0x64, 0xff, 0x9b};
    if (is_ipv4(address) || memcmp(bytes, nat64_prefix, sizeof nat64_prefix) == 0)
        return ipv4_is_public(bytes + 12);
    if (bytes[0] == 0x20 && bytes[1] == 0x02) /* 6to4, 2002::/16 */
        return ipv4_is_public(bytes + 2);
    /* Global unicast is 2000::/3. Of it 2001::/23 (protocol assignments, Teredo), 2001:db8::/32
     * and 3fff::/20 (documentation) are none of any host's. */
    if ((bytes[0] & 0xe0) != 0x20)
        return false;
    if (bytes[0] == 0x20 && bytes[1] == 0x01 && (bytes[2] < 2 || (bytes[2] == 0x0d && bytes[3] == 0xb8)))
        return false;
    return !(bytes[0] == 0x3f && bytes[1] == 0xff && bytes[2] < 0x10);
}
