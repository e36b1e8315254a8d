/* SANITIZED_ADDRESSES is defined in builds with AddressSanitizer or ThreadSanitizer, whose shadow memory
 * takes more of the address space than a child may have. */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED_ADDRESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED_ADDRESSES 1
#endif
#endif
