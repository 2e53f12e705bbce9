/* What a reconciler answers with, and what it asks. */
#include "oarlock.h"
#include "host.h"
#include <stdlib.h>
#include <string.h>

json *oarlock_owner_reference(oarlock_context *cx) {
    return json_make(cx->mem,
                     "{'apiVersion': %s, 'kind': %s, 'name': %s, 'uid': %s, 'controller': true}",
                     cx->kind.api_version, cx->kind.kind, cx->name, cx->uid);
}

static oarlock_error *error(oarlock_context *cx, oarlock_error_type type, const char *format, va_list arguments) {
    oarlock_error *made = oarlock_alloc(cx->mem, sizeof *made);
    *made = (oarlock_error){.type = type, .message = oarlock_vtext(cx->mem, format, arguments), .code = 403, .reason = "Forbidden"};
    return made;
}

#define ERROR(type)                                                                                                    \
    va_list arguments;                                                                                                 \
    va_start(arguments, format);                                                                                       \
    oarlock_error *made = error(cx, type, format, arguments);                                                          \
    va_end(arguments)

oarlock_error *oarlock_transient(oarlock_context *cx, const char *format, ...) {
    ERROR(OARLOCK_TRANSIENT);
    return made;
}

oarlock_error *oarlock_transient_after(oarlock_context *cx, uint64_t delay_ms, const char *format, ...) {
    ERROR(OARLOCK_TRANSIENT);
    /* 0 means none. */
    made->delay_ms = delay_ms ? delay_ms : 1;
    return made;
}

oarlock_error *oarlock_terminal(oarlock_context *cx, const char *format, ...) {
    ERROR(OARLOCK_TERMINAL);
    return made;
}

oarlock_error *oarlock_denied(oarlock_context *cx, const char *format, ...) {
    ERROR(OARLOCK_DENIED);
    return made;
}

/* Adds `entry` to the end of a list that is known by its first and last entry. */
#define ADD(first, last, entry)                                                                                        \
    do {                                                                                                               \
        if (last) (last)->next = (entry);                                                                              \
        else (first) = (entry);                                                                                        \
        (last) = (entry);                                                                                              \
    } while (0)

static oarlock_change *change(oarlock_outcome *out, oarlock_change made) {
    oarlock_change *kept = oarlock_alloc(out->mem, sizeof *kept);
    *kept = made;
    ADD(out->changes, out->last_change, kept);
    return kept;
}

oarlock_change *oarlock_apply(oarlock_outcome *out, const json *object) {
    return change(out, (oarlock_change){.type = OARLOCK_APPLY, .document = object});
}

oarlock_change *oarlock_create(oarlock_outcome *out, const json *object) {
    return change(out, (oarlock_change){.type = OARLOCK_CREATE, .document = object});
}

oarlock_change *oarlock_patch(oarlock_outcome *out, oarlock_kind kind, const char *ns, const char *name, oarlock_patch_type type,
                              const json *patch) {
    return change(out, (oarlock_change){
                           .type = OARLOCK_PATCH, .kind = kind, .ns = ns, .name = name, .patch_type = type, .document = patch});
}

oarlock_change *oarlock_patch_reviewed(oarlock_outcome *out, oarlock_patch_type type, const json *patch) {
    return change(out, (oarlock_change){.type = OARLOCK_PATCH, .patch_type = type, .document = patch});
}

oarlock_change *oarlock_delete(oarlock_outcome *out, oarlock_kind kind, const char *ns, const char *name) {
    return change(out, (oarlock_change){.type = OARLOCK_DELETE, .kind = kind, .ns = ns, .name = name});
}

void oarlock_record(oarlock_outcome *out, oarlock_severity severity, const char *reason, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    oarlock_event *event = oarlock_alloc(out->mem, sizeof *event);
    *event = (oarlock_event){.severity = severity, .reason = reason, .message = oarlock_vtext(out->mem, format, arguments)};
    va_end(arguments);
    ADD(out->events, out->last_event, event);
}

void oarlock_warn_user(oarlock_outcome *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    oarlock_warning *warning = oarlock_alloc(out->mem, sizeof *warning);
    warning->message = oarlock_vtext(out->mem, format, arguments);
    va_end(arguments);
    ADD(out->warnings, out->last_warning, warning);
}

void oarlock_log(oarlock_level level, const char *format, ...) {
    oarlock_mem *mem = oarlock_mem_new();
    va_list arguments;
    va_start(arguments, format);
    char *text = oarlock_vtext(mem, format, arguments);
    va_end(arguments);
    host_log(level, text, strlen(text), NULL);
    oarlock_mem_free(mem);
}

void oarlock_log_fields(oarlock_level level, const char *message, const char *const *fields) {
    host_log(level, message, strlen(message), fields);
}

/* An answer of the host; its documents are JSON. */
static oarlock_error *parsed(oarlock_context *cx, host_text text, const json **value) {
    const char *problem = NULL;
    *value = text.text ? json_parse(cx->mem, text.text, text.len, &problem) : NULL;
    return problem ? oarlock_terminal(cx, "not JSON this plugin can read: %s", problem) : NULL;
}

static oarlock_error *get(oarlock_context *cx, host_read read, oarlock_kind kind, const char *ns, const char *name,
                          const json **object) {
    host_text text = {0};
    *object = NULL;
    OARLOCK_TRY(host_get(cx, read, kind, ns ? ns : "", name, &text));
    return parsed(cx, text, object);
}

oarlock_error *oarlock_get_object(oarlock_context *cx, oarlock_kind kind, const char *ns, const char *name, const json **object) {
    return get(cx, HOST_GET_OBJECT, kind, ns, name, object);
}

oarlock_error *oarlock_get_applied(oarlock_context *cx, oarlock_kind kind, const char *ns, const char *name, const json **object) {
    return get(cx, HOST_GET_APPLIED, kind, ns, name, object);
}

oarlock_error *oarlock_get_live(oarlock_context *cx, oarlock_kind kind, const char *ns, const char *name, const json **object) {
    return get(cx, HOST_GET_LIVE, kind, ns, name, object);
}

static oarlock_error *parsed_list(oarlock_context *cx, const host_text *texts, size_t count, const json **objects) {
    json *list = json_new_array(cx->mem);
    for (size_t i = 0; i < count; i++) {
        const json *object = NULL;
        OARLOCK_TRY(parsed(cx, texts[i], &object));
        json_append(list, object);
    }
    *objects = list;
    return NULL;
}

oarlock_error *oarlock_list_objects(oarlock_context *cx, oarlock_kind kind, oarlock_list_options options, const json **objects) {
    host_text *texts = NULL;
    size_t count = 0;
    *objects = NULL;
    OARLOCK_TRY(host_list(cx, kind, &options, &texts, &count));
    return parsed_list(cx, texts, count, objects);
}

oarlock_error *oarlock_list_indexed(oarlock_context *cx, oarlock_kind kind, const char *index, const char *value,
                                    oarlock_list_options options, const json **objects) {
    host_text *texts = NULL;
    size_t count = 0;
    *objects = NULL;
    OARLOCK_TRY(host_list_indexed(cx, kind, index, value, &options, &texts, &count));
    return parsed_list(cx, texts, count, objects);
}

static oarlock_error *merge(oarlock_context *cx, host_merge_type type, oarlock_kind kind, const json *const documents[3],
                            const json **merged) {
    host_text texts[3] = {{0}}, answer = {0};
    *merged = NULL;
    for (int i = 0; i < (type == HOST_THREE_WAY ? 3 : 2); i++) texts[i] = oarlock_document(cx->mem, documents[i], "a document to merge");
    OARLOCK_TRY(host_merge(cx, type, kind, texts, &answer));
    return parsed(cx, answer, merged);
}

oarlock_error *oarlock_merge_two_way(oarlock_context *cx, oarlock_kind kind, const json *original, const json *modified,
                                     const json **patch) {
    return merge(cx, HOST_TWO_WAY, kind, (const json *const[3]){original, modified, NULL}, patch);
}

oarlock_error *oarlock_merge_three_way(oarlock_context *cx, oarlock_kind kind, const json *original, const json *modified,
                                       const json *current, const json **patch) {
    return merge(cx, HOST_THREE_WAY, kind, (const json *const[3]){original, modified, current}, patch);
}

oarlock_error *oarlock_merge_apply(oarlock_context *cx, oarlock_kind kind, const json *original, const json *patch,
                                   const json **merged) {
    return merge(cx, HOST_APPLY_PATCH, kind, (const json *const[3]){original, patch, NULL}, merged);
}

const char *oarlock_config(oarlock_context *cx, const char *key) {
    const char *value = host_config(cx, key);
    return value && *value ? value : NULL;
}

oarlock_error *oarlock_config_required(oarlock_context *cx, const char *key, const char **value) {
    *value = oarlock_config(cx, key);
    return *value ? NULL : oarlock_terminal(cx, "the plugin's configuration does not set %s", key);
}

const char *const *oarlock_config_keys(oarlock_context *cx) { return host_config_keys(cx); }

oarlock_bytes oarlock_cache_get(oarlock_context *cx, const char *key) { return host_cache_get(cx, key); }

void oarlock_cache_set(oarlock_context *cx, const char *key, oarlock_bytes value, uint64_t ttl_ms) {
    (void)cx;
    host_cache_set(key, value, ttl_ms);
}

void oarlock_split_api_version(oarlock_mem *mem, const char *api_version, const char **group, const char **version) {
    const char *slash = strchr(api_version, '/');
    *group = slash ? oarlock_copy(mem, api_version, (size_t)(slash - api_version)) : "";
    *version = slash ? slash + 1 : api_version;
}
