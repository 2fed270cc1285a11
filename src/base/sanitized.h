/* Whether a sanitizer is built in, which makes everything several times slower: tests that try many things try fewer
 * then. A sanitizer looks at the code, not at what the test finds. */
#ifndef BASE_SANITIZED_H
#define BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
