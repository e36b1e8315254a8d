/* SANITIZED_ADDRESSES is defined in builds with AddressSanitizer. */
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED_ADDRESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED_ADDRESSES 1
#endif
#endif
