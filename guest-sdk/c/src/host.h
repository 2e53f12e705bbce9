/* What the host offers, below the SDK: in a component the imports (wasm.c), natively a small world (testing.c). Private to the SDK. */
#ifndef OARLOCK_HOST_H
#define OARLOCK_HOST_H

#include "oarlock.h"
#include <stdarg.h>

/* Text with its length; NULL: none. It lives in the `mem` of the call. */
typedef struct {
    const char *text;
    size_t len;
} host_text;

typedef enum { HOST_GET_OBJECT, HOST_GET_APPLIED, HOST_GET_LIVE } host_read;
typedef enum { HOST_TWO_WAY, HOST_THREE_WAY, HOST_APPLY_PATCH } host_merge_type;

oarlock_error *host_get(oarlock_context *cx, host_read read, oarlock_kind kind, const char *ns, const char *name, host_text *found);
oarlock_error *host_list(oarlock_context *cx, oarlock_kind kind, const oarlock_list_options *options, host_text **found, size_t *count);
oarlock_error *host_list_indexed(oarlock_context *cx, oarlock_kind kind, const char *index, const char *value,
                                 const oarlock_list_options *options, host_text **found, size_t *count);
/* Two documents, three for HOST_THREE_WAY. */
oarlock_error *host_merge(oarlock_context *cx, host_merge_type type, oarlock_kind kind, const host_text documents[3], host_text *merged);
/* `*why` is set with a failure. */
oarlock_http_failure host_send(oarlock_context *cx, const oarlock_http_request *request, oarlock_http_response *response,
                               const char **why);
oarlock_bytes host_cache_get(oarlock_context *cx, const char *key);
void host_cache_set(const char *key, oarlock_bytes value, uint64_t ttl_ms);
const char *host_config(oarlock_context *cx, const char *key);
const char *const *host_config_keys(oarlock_context *cx);
/* `fields`: names and values in turns, then NULL; or NULL. */
void host_log(oarlock_level level, const char *message, size_t len, const char *const *fields);
void host_panic(const char *message) __attribute__((noreturn));
/* Logs printed text that has no newline yet (libc.c). */
void host_flush(void);

char *oarlock_vtext(oarlock_mem *mem, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
/* `group` (empty for the core group) and `version` of an apiVersion. */
void oarlock_split_api_version(oarlock_mem *mem, const char *api_version, const char **group, const char **version);
/* `text` where it is UTF-8, else a copy with U+FFFD for what is not; `*len` follows. */
const char *oarlock_utf8(oarlock_mem *mem, const char *text, size_t *len);
/* A document for the host; one that is absent or nested too deeply ends the call with `what`. */
host_text oarlock_document(oarlock_mem *mem, const json *value, const char *what);

/* Ends the call where manifest and converter disagree. */
void oarlock_check_converter(const oarlock_reconciler *plugin);
/* Converts cx->object; the rest of `cx` is filled in. */
oarlock_error *oarlock_convert(const oarlock_reconciler *plugin, oarlock_context *cx, const char *desired, const json **converted);

#endif
