/* Strings, statuses and the ABI version: what every other header needs.
   All of the ABI is there since 1.0 unless a comment says otherwise; sdk/abi/ keeps it as it is. A struct that begins with
   struct_size may grow at its end; every other struct is frozen. */
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

/* Borrowed UTF-8, not NUL-terminated. Valid for as long as the function that hands it over says. Frozen. */
typedef struct tn_str {
  const char* data;
  uint64_t size;
} tn_str;

/* Receives text piecewise; `ctx` is the caller's. Lets the library return text without passing ownership.
   Called on the thread of the call that takes it, before that call returns. [thread-safe] */
typedef void (*tn_write_fn)(void* ctx, tn_str chunk);

/* The outcome of a call: NULL is success, anything else an error that the receiver releases. */
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
#define TN_DEVICE_LOST 8u         /* the device stopped working; other devices go on */
#define TN_IO 9u                  /* a file could not be read or written */
#define TN_DATA_LOSS 10u          /* a file or buffer is malformed */
#define TN_INTERNAL 11u           /* a defect of the library or of a plugin */
#define TN_CANCELLED 12u          /* a callback asked to stop */
#define TN_TIMEOUT 13u            /* it took longer than it may. Since 1.1 */
#define TN_PEER_LOST 14u /* another process of the job does not answer any more. Since 1.1 */

/* Makes a status owned by the caller; `message` is copied. [thread-safe] */
TN_API tn_status* tn_status_make(uint32_t code, tn_str message);
/* The code; TN_OK for NULL. [thread-safe] */
TN_API uint32_t tn_status_code(const tn_status* status);
/* The message, valid until the status is released; empty for NULL. [thread-safe] */
TN_API tn_str tn_status_message(const tn_status* status);
/* Frees a status; NULL is allowed. [thread-safe] */
TN_API void tn_status_release(tn_status* status);

/* The version of the library that is running, which may be newer than the headers. [thread-safe] */
TN_API void tn_version(uint32_t* abi_major, uint32_t* abi_minor, tn_str* version);

TN_EXTERN_C_END
#endif
