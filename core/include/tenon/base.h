/* Strings, statuses and the ABI version, which all other headers need. Everything in the ABI exists since 1.0 unless a comment says
   otherwise; sdk/abi/ guards it. A struct that begins with struct_size may grow at its end; every other struct is frozen. */
#ifndef TENON_BASE_H
#define TENON_BASE_H

#include <stddef.h>
#include <stdint.h>

#define TN_ABI_MAJOR 1
#define TN_ABI_MINOR 1

#define TN_VERSION_STRING "0.1.0"

#ifdef __cplusplus
#define TN_EXTERN_C_BEGIN extern "C" {
#define TN_EXTERN_C_END }
#else
#define TN_EXTERN_C_BEGIN
#define TN_EXTERN_C_END
#endif

/* TN_API marks a function of libtenon; TN_EXPORT the one symbol a plugin exports. */
#if defined(_WIN32)
#define TN_EXPORT __declspec(dllexport)
#else
#define TN_EXPORT __attribute__((visibility("default")))
#endif
#if defined(_WIN32) && !defined(TN_BUILDING_CORE)
#define TN_API __declspec(dllimport)
#else
#define TN_API TN_EXPORT
#endif

#ifdef __cplusplus
#define TN_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define TN_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

TN_EXTERN_C_BEGIN

/* Borrowed UTF-8 without a terminating NUL. Whoever passes it says how long it is valid. Frozen. */
typedef struct tn_str {
  const char* data;
  uint64_t size;
} tn_str;

/* Receives text in pieces; `ctx` is the caller's. The library can return text this way without passing ownership. Called on the caller's
   thread, before the call returns. [thread-safe] */
typedef void (*tn_write_fn)(void* ctx, tn_str chunk);

/* The outcome of a call: NULL for success, otherwise an error that the receiver must release. */
typedef struct tn_status tn_status;

/* Error codes. Values are frozen. */
#define TN_OK 0u
#define TN_INVALID_ARGUMENT 1u    /* a value, shape or dtype that the function does not take */
#define TN_OUT_OF_RANGE 2u        /* an index or dimension outside its range */
#define TN_NOT_FOUND 3u           /* no op, device, plugin or file of that name */
#define TN_ALREADY_EXISTS 4u      /* the name is taken */
#define TN_UNIMPLEMENTED 5u       /* nothing loaded can do this; the message says what to install */
#define TN_OUT_OF_MEMORY 6u       /* the message gives size, free and held bytes */
#define TN_FAILED_PRECONDITION 7u /* the object is not in a state that allows the call */
#define TN_DEVICE_LOST 8u         /* the device stopped working; other devices still work */
#define TN_IO 9u                  /* a file could not be read or written */
#define TN_DATA_LOSS 10u          /* a file or buffer is malformed */
#define TN_INTERNAL 11u           /* a defect of the library or of a plugin */
#define TN_CANCELLED 12u          /* a callback asked to stop */
#define TN_TIMEOUT 13u            /* it took longer than allowed. Since 1.1 */
#define TN_PEER_LOST 14u          /* another process of the job no longer answers. Since 1.1 */

/* Creates a status that the caller owns; copies `message`. [thread-safe] */
TN_API tn_status* tn_status_make(uint32_t code, tn_str message);
/* The code; TN_OK for NULL. [thread-safe] */
TN_API uint32_t tn_status_code(const tn_status* status);
/* The message, valid until the status is released; empty for NULL. [thread-safe] */
TN_API tn_str tn_status_message(const tn_status* status);
/* Frees a status; NULL is allowed. [thread-safe] */
TN_API void tn_status_release(tn_status* status);

/* The version of the running library, which may be newer than the headers. [thread-safe] */
TN_API void tn_version(uint32_t* abi_major, uint32_t* abi_minor, tn_str* version);

TN_EXTERN_C_END
#endif
