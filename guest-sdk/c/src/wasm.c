/* Between the component's imports and exports, as wit-bindgen renders them, and the SDK. Only in components. */
#include "../gen/plugin.h"
#include "host.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>

#define EXPORTED(name) exports_oarlock_reconciler_reconcile_##name

/* Text for a call of the host, which copies it. The component model takes UTF-8 only. */
static plugin_string_t lend(oarlock_mem *mem, const char *text) {
    size_t len = text ? strlen(text) : 0;
    const char *valid = len ? oarlock_utf8(mem, text, &len) : "";
    return (plugin_string_t){(uint8_t *)valid, len};
}

static plugin_string_t lend_text(host_text text) { return (plugin_string_t){(uint8_t *)text.text, text.len}; }

/* Text in an answer, which the bindings free. */
static plugin_string_t give_bytes(const char *text, size_t len) {
    if (!len) return (plugin_string_t){NULL, 0};
    uint8_t *copy = malloc(len);
    if (!copy) host_panic("out of memory");
    return (plugin_string_t){memcpy(copy, text, len), len};
}

static plugin_string_t give(oarlock_mem *mem, const char *text) {
    plugin_string_t lent = lend(mem, text);
    return give_bytes((const char *)lent.ptr, lent.len);
}

static plugin_string_t give_json(oarlock_mem *mem, const json *value, const char *what) {
    host_text text = oarlock_document(mem, value, what);
    return give_bytes(text.text, text.len);
}

/* Text the host made: it is ours now. */
static host_text take(oarlock_mem *mem, plugin_string_t text) {
    host_text taken = {oarlock_copy(mem, text.ptr, text.len), text.len};
    plugin_string_free(&text);
    return taken;
}

static const char *take_text(oarlock_mem *mem, plugin_string_t text) { return take(mem, text).text; }

static oarlock_reconciler_types_group_version_kind_t lend_kind(oarlock_mem *mem, oarlock_kind kind) {
    const char *group, *version;
    oarlock_split_api_version(mem, kind.api_version, &group, &version);
    return (oarlock_reconciler_types_group_version_kind_t){lend(mem, group), lend(mem, version), lend(mem, kind.kind)};
}

static oarlock_error *take_error(oarlock_context *cx, oarlock_reconciler_types_error_t *error) {
    oarlock_error *taken = oarlock_alloc(cx->mem, sizeof *taken);
    switch (error->tag) {
    case OARLOCK_RECONCILER_TYPES_ERROR_TRANSIENT:
        taken->type = OARLOCK_TRANSIENT;
        taken->message = take_text(cx->mem, error->val.transient.message);
        if (error->val.transient.delay_ms.is_some) {
            uint64_t delay = error->val.transient.delay_ms.val;
            taken->delay_ms = delay ? delay : 1;
        }
        break;
    case OARLOCK_RECONCILER_TYPES_ERROR_TERMINAL:
        taken->type = OARLOCK_TERMINAL;
        taken->message = take_text(cx->mem, error->val.terminal);
        break;
    default:
        taken->type = OARLOCK_DENIED;
        taken->code = error->val.denied.code;
        taken->reason = take_text(cx->mem, error->val.denied.reason);
        taken->message = take_text(cx->mem, error->val.denied.message);
    }
    return taken;
}

oarlock_error *host_get(oarlock_context *cx, host_read read, oarlock_kind kind, const char *ns, const char *name, host_text *found) {
    oarlock_reconciler_types_group_version_kind_t of = lend_kind(cx->mem, kind);
    oarlock_reconciler_types_object_key_t key = {lend(cx->mem, ns), lend(cx->mem, name)};
    oarlock_reconciler_cluster_option_json_t answer;
    oarlock_reconciler_types_error_t error;
    bool ok = false;
    switch (read) {
    case HOST_GET_OBJECT: ok = oarlock_reconciler_cluster_get_object(&of, &key, &answer, &error); break;
    case HOST_GET_APPLIED: ok = oarlock_reconciler_cluster_get_applied(&of, &key, &answer, &error); break;
    case HOST_GET_LIVE: ok = oarlock_reconciler_cluster_get_live(&of, &key, &answer, &error); break;
    }
    if (!ok) return take_error(cx, &error);
    if (answer.is_some) *found = take(cx->mem, answer.val);
    return NULL;
}

static oarlock_reconciler_cluster_list_options_t lend_options(oarlock_mem *mem, const oarlock_list_options *options) {
    return (oarlock_reconciler_cluster_list_options_t){lend(mem, options->ns), lend(mem, options->label_selector),
                                                       lend(mem, options->owner_uid), options->limit};
}

static void take_list(oarlock_mem *mem, oarlock_reconciler_cluster_list_json_t answer, host_text **found, size_t *count) {
    *found = oarlock_alloc(mem, (answer.len + 1) * sizeof **found);
    *count = answer.len;
    for (size_t i = 0; i < answer.len; i++) (*found)[i] = take(mem, answer.ptr[i]);
    if (answer.len) free(answer.ptr);
}

oarlock_error *host_list(oarlock_context *cx, oarlock_kind kind, const oarlock_list_options *options, host_text **found,
                         size_t *count) {
    oarlock_reconciler_types_group_version_kind_t of = lend_kind(cx->mem, kind);
    oarlock_reconciler_cluster_list_options_t wanted = lend_options(cx->mem, options);
    oarlock_reconciler_cluster_list_json_t answer;
    oarlock_reconciler_types_error_t error;
    if (!oarlock_reconciler_cluster_list_objects(&of, &wanted, &answer, &error)) return take_error(cx, &error);
    take_list(cx->mem, answer, found, count);
    return NULL;
}

/* A function of its own: a plugin that does not call it does not import list-indexed. */
oarlock_error *host_list_indexed(oarlock_context *cx, oarlock_kind kind, const char *index, const char *value,
                                 const oarlock_list_options *options, host_text **found, size_t *count) {
    oarlock_reconciler_types_group_version_kind_t of = lend_kind(cx->mem, kind);
    plugin_string_t name = lend(cx->mem, index), with = lend(cx->mem, value);
    oarlock_reconciler_cluster_list_options_t wanted = lend_options(cx->mem, options);
    oarlock_reconciler_cluster_list_json_t answer;
    oarlock_reconciler_types_error_t error;
    if (!oarlock_reconciler_cluster_list_indexed(&of, &name, &with, &wanted, &answer, &error)) return take_error(cx, &error);
    take_list(cx->mem, answer, found, count);
    return NULL;
}

oarlock_error *host_merge(oarlock_context *cx, host_merge_type type, oarlock_kind kind, const host_text documents[3],
                          host_text *merged) {
    oarlock_reconciler_types_group_version_kind_t of = lend_kind(cx->mem, kind);
    plugin_string_t a = lend_text(documents[0]), b = lend_text(documents[1]), c = lend_text(documents[2]), answer;
    oarlock_reconciler_types_error_t error;
    bool ok = false;
    switch (type) {
    case HOST_TWO_WAY: ok = oarlock_reconciler_merge_create_two_way(&of, &a, &b, &answer, &error); break;
    case HOST_THREE_WAY: ok = oarlock_reconciler_merge_create_three_way(&of, &a, &b, &c, &answer, &error); break;
    case HOST_APPLY_PATCH: ok = oarlock_reconciler_merge_apply_patch(&of, &a, &b, &answer, &error); break;
    }
    if (!ok) return take_error(cx, &error);
    *merged = take(cx->mem, answer);
    return NULL;
}

oarlock_http_failure host_send(oarlock_context *cx, const oarlock_http_request *request, oarlock_http_response *response,
                               const char **why) {
    size_t count = 0;
    while (request->headers && request->headers[count].name) count++;
    oarlock_reconciler_http_header_t *headers = oarlock_alloc(cx->mem, (count + 1) * sizeof *headers);
    for (size_t i = 0; i < count; i++)
        headers[i] = (oarlock_reconciler_http_header_t){lend(cx->mem, request->headers[i].name), lend(cx->mem, request->headers[i].value)};
    oarlock_reconciler_http_outgoing_t outgoing = {
        .method = lend(cx->mem, request->method),
        .url = lend(cx->mem, request->url),
        .headers = {headers, count},
        .body = {(uint8_t *)request->body.bytes, request->body.len},
        .timeout_ms = request->timeout_ms,
    };
    oarlock_reconciler_http_response_t answer;
    oarlock_reconciler_http_failure_t failure;
    if (!oarlock_reconciler_http_send(&outgoing, &answer, &failure)) {
        switch (failure.tag) {
        case OARLOCK_RECONCILER_HTTP_FAILURE_DENIED: *why = take_text(cx->mem, failure.val.denied); return OARLOCK_HTTP_DENIED;
        case OARLOCK_RECONCILER_HTTP_FAILURE_UNREACHABLE:
            *why = take_text(cx->mem, failure.val.unreachable);
            return OARLOCK_HTTP_UNREACHABLE;
        case OARLOCK_RECONCILER_HTTP_FAILURE_TIMED_OUT: return OARLOCK_HTTP_TIMED_OUT;
        case OARLOCK_RECONCILER_HTTP_FAILURE_TOO_LARGE:
            *why = oarlock_text(cx->mem, "%llu", (unsigned long long)failure.val.too_large);
            return OARLOCK_HTTP_TOO_LARGE;
        default: *why = take_text(cx->mem, failure.val.invalid); return OARLOCK_HTTP_INVALID;
        }
    }
    oarlock_header *got = oarlock_alloc(cx->mem, (answer.headers.len + 1) * sizeof *got);
    for (size_t i = 0; i < answer.headers.len; i++)
        got[i] = (oarlock_header){take_text(cx->mem, answer.headers.ptr[i].name), take_text(cx->mem, answer.headers.ptr[i].value)};
    if (answer.headers.len) free(answer.headers.ptr);
    response->status = answer.status;
    response->headers = got;
    response->body = (oarlock_bytes){oarlock_copy(cx->mem, answer.body.ptr, answer.body.len), answer.body.len};
    plugin_list_u8_free(&answer.body);
    return OARLOCK_ANSWERED;
}

oarlock_bytes host_cache_get(oarlock_context *cx, const char *key) {
    plugin_string_t name = lend(cx->mem, key);
    plugin_list_u8_t value;
    if (!oarlock_reconciler_cache_get(&name, &value)) return (oarlock_bytes){NULL, 0};
    oarlock_bytes copy = {oarlock_copy(cx->mem, value.ptr, value.len), value.len};
    plugin_list_u8_free(&value);
    return copy;
}

void host_cache_set(const char *key, oarlock_bytes value, uint64_t ttl_ms) {
    oarlock_mem *mem = oarlock_mem_new();
    plugin_string_t name = lend(mem, key);
    plugin_list_u8_t bytes = {(uint8_t *)value.bytes, value.bytes ? value.len : 0};
    oarlock_reconciler_cache_set(&name, &bytes, ttl_ms);
    oarlock_mem_free(mem);
}

const char *host_config(oarlock_context *cx, const char *key) {
    plugin_string_t name = lend(cx->mem, key), value;
    return oarlock_reconciler_config_get(&name, &value) ? take_text(cx->mem, value) : NULL;
}

const char *const *host_config_keys(oarlock_context *cx) {
    plugin_list_string_t keys;
    oarlock_reconciler_config_keys(&keys);
    const char **copy = oarlock_alloc(cx->mem, (keys.len + 1) * sizeof *copy);
    for (size_t i = 0; i < keys.len; i++) copy[i] = take_text(cx->mem, keys.ptr[i]);
    if (keys.len) free(keys.ptr);
    return copy;
}

void host_log(oarlock_level level, const char *message, size_t len, const char *const *fields) {
    oarlock_mem *mem = oarlock_mem_new();
    size_t count = 0;
    while (fields && fields[2 * count] && fields[2 * count + 1]) count++;
    plugin_tuple2_string_string_t *pairs = oarlock_alloc(mem, (count + 1) * sizeof *pairs);
    for (size_t i = 0; i < count; i++)
        pairs[i] = (plugin_tuple2_string_string_t){lend(mem, fields[2 * i]), lend(mem, fields[2 * i + 1])};
    const char *valid = oarlock_utf8(mem, message, &len);
    plugin_string_t text = {(uint8_t *)valid, len};
    plugin_list_tuple2_string_string_t list = {pairs, count};
    oarlock_reconciler_log_log((oarlock_reconciler_log_level_t)level, &text, &list);
    oarlock_mem_free(mem);
}

void host_panic(const char *message) {
    /* Without an allocation: there may be no memory left. */
    static char line[1024];
    size_t len = 0;
    for (const char *at = message, *end = message + strlen(message); at < end && len < sizeof line - 4;) {
        size_t bytes = json_utf8(at, end);
        if (bytes) memcpy(line + len, at, bytes);
        else line[len] = '?';
        len += bytes ? bytes : 1;
        at += bytes ? bytes : 1;
    }
    plugin_string_t text = {(uint8_t *)line, len};
    plugin_list_tuple2_string_string_t fields = {NULL, 0};
    host_flush();
    oarlock_reconciler_log_log(OARLOCK_RECONCILER_LOG_LEVEL_ERROR, &text, &fields);
    __builtin_trap();
}

/* ---- The exports ---- */

static const char *api_version(oarlock_mem *mem, plugin_string_t group, plugin_string_t version) {
    if (!group.len) return oarlock_copy(mem, version.ptr, version.len);
    return oarlock_text(mem, "%.*s/%.*s", (int)group.len, (const char *)group.ptr, (int)version.len, (const char *)version.ptr);
}

static const char *copy(oarlock_mem *mem, plugin_string_t text) { return oarlock_copy(mem, text.ptr, text.len); }

/* A document of the request: the host sends none that is no object. */
static const json *object(oarlock_mem *mem, plugin_string_t text, const char *what) {
    const char *problem = NULL;
    const json *value = json_parse(mem, (const char *)text.ptr, text.len, &problem);
    if (!value) oarlock_panic("%s: %s", what, problem);
    if (json_type_of(value) != JSON_OBJECT) oarlock_panic("%s is not a JSON object", what);
    return value;
}

static oarlock_context begin(EXPORTED(request_t) * request) {
    oarlock_mem *mem = oarlock_mem_new();
    oarlock_context cx = {
        .mem = mem,
        .kind = {api_version(mem, request->kind.group, request->kind.version), copy(mem, request->kind.kind)},
        .ns = copy(mem, request->key.namespace_),
        .name = copy(mem, request->key.name),
        .uid = copy(mem, request->uid),
        .gone = !request->object.is_some && !request->review.is_some,
        .trigger = (oarlock_trigger)request->trigger,
        .attempt = request->attempt,
        .correlation_id = copy(mem, request->correlation_id),
        .dry_run = request->dry_run,
    };
    cx.deleting = request->deleting || cx.gone;
    if (request->object.is_some) cx.object = object(mem, request->object.val, "the object");
    else if (request->last_seen.is_some) cx.object = object(mem, request->last_seen.val, "the last known state");
    if (request->review.is_some) cx.review = object(mem, request->review.val, "the review");
    EXPORTED(request_free)(request);
    return cx;
}

/* Ends the call: true when there is no error. */
static bool finish(oarlock_context *cx, const oarlock_error *error, EXPORTED(error_t) * answer) {
    if (error) {
        switch (error->type) {
        case OARLOCK_TRANSIENT:
            answer->tag = OARLOCK_RECONCILER_TYPES_ERROR_TRANSIENT;
            answer->val.transient.delay_ms = (plugin_option_u64_t){error->delay_ms > 0, error->delay_ms};
            answer->val.transient.message = give(cx->mem, error->message);
            break;
        case OARLOCK_TERMINAL:
            answer->tag = OARLOCK_RECONCILER_TYPES_ERROR_TERMINAL;
            answer->val.terminal = give(cx->mem, error->message);
            break;
        case OARLOCK_DENIED:
            answer->tag = OARLOCK_RECONCILER_TYPES_ERROR_DENIED;
            answer->val.denied = (oarlock_reconciler_types_denial_t){error->code, give(cx->mem, error->reason), give(cx->mem, error->message)};
            break;
        }
    }
    host_flush();
    oarlock_mem_free(cx->mem);
    return !error;
}

static EXPORTED(option_json_t) give_state(oarlock_mem *mem, const json *state, const char *what) {
    EXPORTED(option_json_t) given = {state != NULL, {NULL, 0}};
    if (state) given.val = give_json(mem, state, what);
    return given;
}

void EXPORTED(describe)(EXPORTED(json_t) * ret) {
    oarlock_mem *mem = oarlock_mem_new();
    oarlock_check_converter(&oarlock_plugin);
    *ret = give_json(mem, oarlock_manifest_document(mem, oarlock_plugin.manifest), "the manifest");
    oarlock_mem_free(mem);
}

bool EXPORTED(get_desired)(EXPORTED(request_t) * request, EXPORTED(option_json_t) * ret, EXPORTED(error_t) * err) {
    oarlock_context cx = begin(request);
    const json *state = NULL;
    /* While it is going nothing is desired by definition. */
    oarlock_error *error = cx.deleting ? NULL : oarlock_plugin.desired(&cx, &state);
    if (!error) *ret = give_state(cx.mem, state, "the desired state");
    return finish(&cx, error, err);
}

bool EXPORTED(get_actual)(EXPORTED(request_t) * request, EXPORTED(observation_t) * ret, EXPORTED(error_t) * err) {
    oarlock_context cx = begin(request);
    oarlock_observation seen = {0};
    oarlock_error *error = oarlock_plugin.actual(&cx, &seen);
    if (!error) {
        if (seen.status && json_type_of(seen.status) != JSON_OBJECT) oarlock_panic("the status is not a JSON object");
        ret->state = give_state(cx.mem, seen.state, "the actual state");
        ret->status = give_state(cx.mem, seen.status, "the status");
        ret->requeue_after_ms = (plugin_option_u64_t){seen.requeue_after_ms > 0, seen.requeue_after_ms};
    }
    return finish(&cx, error, err);
}

static EXPORTED(object_ref_t) give_ref(oarlock_mem *mem, const oarlock_change *change) {
    const char *group, *version;
    oarlock_split_api_version(mem, change->kind.api_version, &group, &version);
    return (EXPORTED(object_ref_t)){{give(mem, group), give(mem, version), give(mem, change->kind.kind)},
                                    {give(mem, change->ns), give(mem, change->name)}};
}

static plugin_option_string_t give_option(oarlock_mem *mem, const char *text) {
    return (plugin_option_string_t){text != NULL, give(mem, text)};
}

static EXPORTED(change_t) give_change(oarlock_mem *mem, const oarlock_change *change) {
    EXPORTED(change_t) given = {0};
    EXPORTED(precondition_t) precondition = {0};
    if (change->type != OARLOCK_CREATE)
        precondition = (EXPORTED(precondition_t)){give_option(mem, change->if_uid), give_option(mem, change->if_resource_version)};
    switch (change->type) {
    case OARLOCK_APPLY:
        given.tag = EXPORTS_OARLOCK_RECONCILER_RECONCILE_CHANGE_APPLY;
        given.val.apply = (EXPORTED(apply_change_t)){give_json(mem, change->document, "what is applied"), give(mem, change->subresource),
                                                     change->force, precondition};
        break;
    case OARLOCK_CREATE:
        given.tag = EXPORTS_OARLOCK_RECONCILER_RECONCILE_CHANGE_CREATE;
        given.val.create = give_json(mem, change->document, "what is created");
        break;
    case OARLOCK_PATCH:
        given.tag = EXPORTS_OARLOCK_RECONCILER_RECONCILE_CHANGE_PATCH;
        given.val.patch = (EXPORTED(patch_change_t)){.patch_type = (uint8_t)change->patch_type,
                                                     .patch = give_json(mem, change->document, "a patch"),
                                                     .subresource = give(mem, change->subresource),
                                                     .precondition = precondition};
        if (change->kind.kind) given.val.patch.target = (EXPORTED(option_object_ref_t)){true, give_ref(mem, change)};
        break;
    case OARLOCK_DELETE:
        given.tag = EXPORTS_OARLOCK_RECONCILER_RECONCILE_CHANGE_DELETE;
        given.val.delete_ = (EXPORTED(delete_change_t)){give_ref(mem, change), (uint8_t)change->propagation, precondition};
        break;
    }
    return given;
}

/* Room for a list in an answer, which the bindings free. */
static void *give_list(size_t count, size_t size) {
    void *list = count ? calloc(count, size) : NULL;
    if (count && !list) host_panic("out of memory");
    return list;
}

static EXPORTED(outcome_t) give_outcome(const oarlock_outcome *out) {
    EXPORTED(outcome_t) given = {0};
    size_t i = 0;
    for (const oarlock_change *one = out->changes; one; one = one->next) given.changes.len++;
    for (const oarlock_event *one = out->events; one; one = one->next) given.events.len++;
    for (const oarlock_warning *one = out->warnings; one; one = one->next) given.warnings.len++;
    given.changes.ptr = give_list(given.changes.len, sizeof *given.changes.ptr);
    given.events.ptr = give_list(given.events.len, sizeof *given.events.ptr);
    given.warnings.ptr = give_list(given.warnings.len, sizeof *given.warnings.ptr);
    for (const oarlock_change *one = out->changes; one; one = one->next) given.changes.ptr[i++] = give_change(out->mem, one);
    i = 0;
    for (const oarlock_event *one = out->events; one; one = one->next)
        given.events.ptr[i++] = (EXPORTED(event_t)){(uint8_t)one->severity, give(out->mem, one->reason), give(out->mem, one->message)};
    i = 0;
    for (const oarlock_warning *one = out->warnings; one; one = one->next) given.warnings.ptr[i++] = give(out->mem, one->message);
    given.requeue_after_ms = (plugin_option_u64_t){out->requeue_after_ms > 0, out->requeue_after_ms};
    return given;
}

static const json *state(oarlock_mem *mem, plugin_string_t *text, const char *what) {
    if (!text) return NULL;
    const char *problem = NULL;
    const json *value = json_parse(mem, (const char *)text->ptr, text->len, &problem);
    if (!value) oarlock_panic("%s: %s", what, problem);
    plugin_string_free(text);
    return value;
}

bool EXPORTED(patch)(EXPORTED(request_t) * request, EXPORTED(json_t) * maybe_desired, EXPORTED(json_t) * maybe_actual,
                     EXPORTED(outcome_t) * ret, EXPORTED(error_t) * err) {
    oarlock_context cx = begin(request);
    oarlock_outcome out = {.mem = cx.mem};
    const json *desired = state(cx.mem, maybe_desired, "the desired state");
    const json *actual = state(cx.mem, maybe_actual, "the actual state");
    oarlock_error *error = oarlock_plugin.patch(&cx, desired, actual, &out);
    if (!error) *ret = give_outcome(&out);
    return finish(&cx, error, err);
}
