/* SANITIZED_ADDRESSES is defined in builds with AddressSanitizer or ThreadSanitizer, whose shadow memory
 * takes more of the address space than a child may have; SANITIZED_LEAKS where leaks are looked for, which
 * comes with the first of them. */
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED_LEAKS 1
#define SANITIZED_ADDRESSES 1
#elif defined(__SANITIZE_THREAD__)
#define SANITIZED_ADDRESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED_LEAKS 1
#define SANITIZED_ADDRESSES 1
#elif __has_feature(thread_sanitizer)
#define SANITIZED_ADDRESSES 1
#endif
#endif
