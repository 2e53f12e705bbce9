/* Write an Oarlock reconciler in C. The contract is wit/reconciler.wit.
 *
 * Who frees what: nobody. Everything the host hands to a call, everything this header makes and answers, lives in the memory of
 * that call (`cx->mem`) and goes when it has ended. So nothing of it may be kept in a static variable. What a plugin gets from malloc itself
 * it frees itself. Text ends with NUL and is UTF-8. */
#ifndef OARLOCK_H
#define OARLOCK_H

#include "oarlock/json.h"
#include "oarlock/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a reconcile is about ---- */

/* As a document names it: {"apps/v1", "Deployment"}. */
typedef struct {
    const char *api_version;
    const char *kind;
} oarlock_kind;

/* The cause of a reconcile, for logs. The result of a reconcile must not depend on it. */
typedef enum {
    OARLOCK_EVENT,
    OARLOCK_INITIAL_LIST,
    OARLOCK_RESYNC,
    OARLOCK_REQUEUE,
    OARLOCK_RETRY,
    OARLOCK_SWAP,
    OARLOCK_ADMISSION
} oarlock_trigger;

/* The same for every call of one reconcile, but for `mem`. */
typedef struct {
    /* The memory of this call. */
    oarlock_mem *mem;
    /* One of the manifest's primaries; in admission, the kind of the object under review. */
    oarlock_kind kind;
    /* Namespace (empty for cluster-scoped kinds) and name. */
    const char *ns;
    const char *name;
    /* The object's uid, kept when it is gone: what is made for it elsewhere is marked with it and found by it. Empty at the admission of a
     * create. */
    const char *uid;
    /* The object without managedFields; when it is gone its last known state, or NULL where none is known. */
    const json *object;
    /* It no longer exists. */
    bool gone;
    /* The object is being deleted or is gone: nothing of it should exist. */
    bool deleting;
    oarlock_trigger trigger;
    /* The number of this attempt; 1 is the first since the last success. */
    uint32_t attempt;
    /* An id that the log lines, events and requests of one reconcile share. */
    const char *correlation_id;
    /* Nothing may change: HTTP requests other than GET, HEAD and granted safe ones are refused. */
    bool dry_run;
    /* Admission: the AdmissionRequest, with `pending` initializers. NULL in a reconcile. */
    const json *review;
} oarlock_context;

/* For metadata.ownerReferences of another object: this one is its controller, and it goes when this one goes. */
json *oarlock_owner_reference(oarlock_context *cx);

/* ---- Errors: who tries again ---- */

typedef enum { OARLOCK_TRANSIENT, OARLOCK_TERMINAL, OARLOCK_DENIED } oarlock_error_type;

/* Why a call could not answer. Functions that can fail answer a pointer to one, or NULL when all is well. */
typedef struct {
    oarlock_error_type type;
    /* For people: the Ready condition, an event, the log. The host keeps 1024 bytes. */
    const char *message;
    /* Transient: try again after this many milliseconds, at most a day. 0: the key's own backoff. */
    uint64_t delay_ms;
    /* Denied: the HTTP status the user's client sees, and a word for it. */
    uint16_t code;
    const char *reason;
} oarlock_error;

/* The world outside is at fault for now: the host tries again with backoff. All of these take printf's format. */
oarlock_error *oarlock_transient(oarlock_context *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, after a delay of at least a millisecond. */
oarlock_error *oarlock_transient_after(oarlock_context *cx, uint64_t delay_ms, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The object is at fault: only a change of it, the next resync or a swap tries again. */
oarlock_error *oarlock_terminal(oarlock_context *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Admission only: refuse the request with 403 Forbidden (`code` and `reason` can be set afterwards). */
oarlock_error *oarlock_denied(oarlock_context *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns from the function when `call` answers an error. */
#define OARLOCK_TRY(call)                                                                                              \
    do {                                                                                                               \
        oarlock_error *oarlock_try_error = (call);                                                                     \
        if (oarlock_try_error) return oarlock_try_error;                                                               \
    } while (0)

/* ---- Answers ---- */

/* What `actual` fills in. It starts empty: nothing exists, nothing to say. */
typedef struct {
    /* Compared with desired as a JSON value. NULL: it does not exist. */
    const json *state;
    /* A JSON object: fields of the primary's status. Written where they differ; fields that were written before and are not in it are taken
     * away. NULL: no fields. */
    const json *status;
    /* Look again after this many milliseconds although nothing changed. 0: only when something changes. */
    uint64_t requeue_after_ms;
} oarlock_observation;

typedef enum { OARLOCK_APPLY, OARLOCK_CREATE, OARLOCK_PATCH, OARLOCK_DELETE } oarlock_change_type;
typedef enum { OARLOCK_JSON_PATCH, OARLOCK_MERGE_PATCH, OARLOCK_STRATEGIC_MERGE_PATCH } oarlock_patch_type;
typedef enum { OARLOCK_BACKGROUND, OARLOCK_FOREGROUND, OARLOCK_ORPHAN } oarlock_propagation;
typedef enum { OARLOCK_NORMAL, OARLOCK_WARNING } oarlock_severity;

/* What the host is to do. The functions that make one answer it, so that the rest can be set: oarlock_apply(out, doc)->force = true; */
typedef struct oarlock_change {
    oarlock_change_type type;
    /* Apply and create: the object. Patch: the patch. */
    const json *document;
    /* Patch and delete: of what. A patch without a kind is of the object under review. */
    oarlock_kind kind;
    const char *ns;
    const char *name;
    oarlock_patch_type patch_type;
    oarlock_propagation propagation;
    /* Apply and patch: NULL, or "status" and the like. */
    const char *subresource;
    /* Apply: take fields over from other field managers. */
    bool force;
    /* Refuse the change when the object has another uid or resourceVersion. NULL: whatever it has. Not of a create. */
    const char *if_uid;
    const char *if_resource_version;
    struct oarlock_change *next;
} oarlock_change;

typedef struct oarlock_event {
    oarlock_severity severity;
    const char *reason;
    const char *message;
    struct oarlock_event *next;
} oarlock_event;

typedef struct oarlock_warning {
    const char *message;
    struct oarlock_warning *next;
} oarlock_warning;

/* What `patch` fills in. It starts empty. Changes are carried out in order; the first failure ends the list. */
typedef struct {
    oarlock_mem *mem;
    oarlock_change *changes, *last_change;
    /* Written after the changes were carried out. */
    oarlock_event *events, *last_event;
    /* Admission only: for the user who sent the request. */
    oarlock_warning *warnings, *last_warning;
    /* As in the observation; of both the earlier counts. */
    uint64_t requeue_after_ms;
} oarlock_outcome;

/* Server-side apply: the whole of what this plugin wants of an object. What it wanted before and left out now is removed. */
oarlock_change *oarlock_apply(oarlock_outcome *out, const json *object);
/* A new object. */
oarlock_change *oarlock_create(oarlock_outcome *out, const json *object);
/* A patch of an existing object. */
oarlock_change *oarlock_patch(oarlock_outcome *out, oarlock_kind kind, const char *ns, const char *name, oarlock_patch_type type,
                              const json *patch);
/* A patch of the object under review. */
oarlock_change *oarlock_patch_reviewed(oarlock_outcome *out, oarlock_patch_type type, const json *patch);
/* A deletion, in the background. What is gone already counts as deleted. */
oarlock_change *oarlock_delete(oarlock_outcome *out, oarlock_kind kind, const char *ns, const char *name);
/* A Kubernetes Event on the primary. `reason` is UpperCamelCase; the message has printf's format. */
void oarlock_record(oarlock_outcome *out, oarlock_severity severity, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Admission: a warning for the user. */
void oarlock_warn_user(oarlock_outcome *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- The cluster, through the host's caches. Kinds and namespaces outside the grant: a terminal error ---- */

/* One object without managedFields; NULL in `*object`: it does not exist. The kind must be a primary or a watch. */
oarlock_error *oarlock_get_object(oarlock_context *cx, oarlock_kind kind, const char *ns, const char *name, const json **object);
/* The counterpart of oarlock_apply: what this plugin owns of the object, as it was applied while nothing of it changed. NULL: the object
 * does not exist, or this plugin owns nothing of it. */
oarlock_error *oarlock_get_applied(oarlock_context *cx, oarlock_kind kind, const char *ns, const char *name, const json **object);
/* Past the cache, from the API server. Costs a request. */
oarlock_error *oarlock_get_live(oarlock_context *cx, oarlock_kind kind, const char *ns, const char *name, const json **object);

typedef struct {
    /* NULL: all namespaces. */
    const char *ns;
    /* In `kubectl -l` notation. NULL: all. */
    const char *label_selector;
    /* Only objects with an owner reference to this uid. NULL: all. */
    const char *owner_uid;
    /* At most this many. 0: all. */
    uint32_t limit;
} oarlock_list_options;

/* An array of objects in order of namespace and name. */
oarlock_error *oarlock_list_objects(oarlock_context *cx, oarlock_kind kind, oarlock_list_options options, const json **objects);
/* The same, only objects with `value` in an index of the manifest. The time depends on the number of these objects alone. A terminal error
 * when the manifest declares no such index of the kind. */
oarlock_error *oarlock_list_indexed(oarlock_context *cx, oarlock_kind kind, const char *index, const char *value,
                                    oarlock_list_options options, const json **objects);

/* ---- Strategic merge patch, by the host ---- */

oarlock_error *oarlock_merge_two_way(oarlock_context *cx, oarlock_kind kind, const json *original, const json *modified, const json **patch);
oarlock_error *oarlock_merge_three_way(oarlock_context *cx, oarlock_kind kind, const json *original, const json *modified,
                                       const json *current, const json **patch);
oarlock_error *oarlock_merge_apply(oarlock_context *cx, oarlock_kind kind, const json *original, const json *patch, const json **merged);

/* ---- Configuration and cache ---- */

/* A value of the grant, or of a secret it grants. NULL: not set, or set to nothing. */
const char *oarlock_config(oarlock_context *cx, const char *key);
/* A value that must be set: else a terminal error that names the key. */
oarlock_error *oarlock_config_required(oarlock_context *cx, const char *key, const char **value);
/* Every key that is set, in order, with a NULL at the end. */
const char *const *oarlock_config_keys(oarlock_context *cx);

/* Bytes with a NUL after them that is not counted. */
typedef struct {
    const char *bytes;
    size_t len;
} oarlock_bytes;

/* A value the host keeps for this plugin, in memory. NULL bytes: never set, expired, dropped for room, lost with a restart. */
oarlock_bytes oarlock_cache_get(oarlock_context *cx, const char *key);
/* Keeps a value for `ttl_ms`; 0: as long as there is room. No bytes: removes it. */
void oarlock_cache_set(oarlock_context *cx, const char *key, oarlock_bytes value, uint64_t ttl_ms);

/* ---- HTTP: one request, one answer, whole bodies, only to granted origins. Redirects are not followed ---- */

typedef struct {
    const char *name;
    const char *value;
} oarlock_header;

typedef struct {
    /* NULL: GET. */
    const char *method;
    /* Absolute, http or https. */
    const char *url;
    /* NULL: none; else with one without a name at the end: OARLOCK_LIST(oarlock_header, {"accept", "text/plain"}). */
    const oarlock_header *headers;
    oarlock_bytes body;
    /* NULL: `body`; else this as JSON, and a header that says so. */
    const json *json_body;
    /* For the whole exchange. 0: what is left of the reconcile's deadline. */
    uint32_t timeout_ms;
} oarlock_http_request;

/* Why there was no answer. */
typedef enum {
    OARLOCK_ANSWERED,
    /* The origin is not granted, or a dry run refuses the method. */
    OARLOCK_HTTP_DENIED,
    /* No connection, it broke, or no whole answer in time: the request may have had its effect. */
    OARLOCK_HTTP_UNREACHABLE,
    OARLOCK_HTTP_TIMED_OUT,
    OARLOCK_HTTP_TOO_LARGE,
    /* The request makes no sense. */
    OARLOCK_HTTP_INVALID
} oarlock_http_failure;

typedef struct {
    /* Also set when there is an error. */
    oarlock_http_failure failure;
    uint16_t status;
    /* Names in lower case; one without a name ends them. */
    const oarlock_header *headers;
    oarlock_bytes body;
} oarlock_http_response;

/* Sends a request. An answer with an error status is an answer. No answer is a transient error where the world may be at fault, else a
 * terminal one; `response->failure` says which. */
oarlock_error *oarlock_http_send(oarlock_context *cx, const oarlock_http_request *request, oarlock_http_response *response);
/* An error unless the status is 200 to 299: transient for 408, 425, 429 (with its Retry-After) and 5xx, else terminal. */
oarlock_error *oarlock_http_check(oarlock_context *cx, const oarlock_http_response *response);
/* The body as JSON; else a transient error: a proxy's page or half an answer is not what the server meant to say. */
oarlock_error *oarlock_http_json(oarlock_context *cx, const oarlock_http_response *response, const json **value);
/* The first value of a header, its name in any case, or NULL. */
const char *oarlock_http_header(const oarlock_http_response *response, const char *name);
/* Text for a part of a URL: everything but unreserved characters as %XX. */
const char *oarlock_url_encode(oarlock_context *cx, const char *text);

/* ---- Log ---- */

typedef enum { OARLOCK_DEBUG, OARLOCK_INFO, OARLOCK_WARN, OARLOCK_ERROR } oarlock_level;

/* One line, with printf's format. What is printed to stdout or stderr becomes lines too, at info and warn, each at its newline. */
void oarlock_log(oarlock_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line with fields: names and values in turns, NULL after the last: OARLOCK_STRINGS("subnet", id). */
void oarlock_log_fields(oarlock_level level, const char *message, const char *const *fields);

/* ---- The manifest ---- */

/* Lists in static structures, with their end. */
#define OARLOCK_LIST(type, ...) (const type[]) { __VA_ARGS__, {0} }
#define OARLOCK_STRINGS(...) (const char *const[]) { __VA_ARGS__, NULL }

/* A kind the plugin reconciles. Lists of strings may be NULL: all. */
typedef struct {
    oarlock_kind kind;
    const char *const *namespaces;
    const char *label_selector;
    const char *field_selector;
    /* The host does not manage the status of this kind, such as a built-in one, although the manifest has manage_status. */
    bool unmanaged_status;
} oarlock_primary;

/* Which keys a change of a watched object wakes. */
typedef enum {
    /* Unset: those whose last reconcile read the object, whether or not it existed, or a list that contained or now contains it. Choose
     * another one only for a reason: for example when a change concerns keys that do not read the object. */
    OARLOCK_READS,
    /* The primaries among its owner references. */
    OARLOCK_OWNER_REFERENCE,
    /* The primary of the same namespace and name. */
    OARLOCK_SAME_NAME,
    /* The primary of its namespace whose name is the value of the label, the annotation `map_key`. */
    OARLOCK_LABEL,
    OARLOCK_ANNOTATION,
    /* Every primary that holds its name at the JSON pointer `map_key`. */
    OARLOCK_REFERENCED_BY,
    OARLOCK_ALL,
    /* None: it is only read. */
    OARLOCK_CACHE_ONLY
} oarlock_mapping;

/* Another kind it reads. */
typedef struct {
    oarlock_kind kind;
    oarlock_mapping map_to;
    const char *map_key;
    const char *const *names;
    const char *const *namespaces;
    const char *label_selector;
    /* Which primary the keys are of. Unset: the first. Not with OARLOCK_READS. */
    oarlock_kind primary;
} oarlock_watch;

/* An index for oarlock_list_indexed. Either `json_path` or `label` is set. */
typedef struct {
    /* 1 to 63 characters (a-z, 0-9, -). Each index of a kind has another name. */
    const char *name;
    /* A primary or a watch. */
    oarlock_kind kind;
    /* Field names, ['name'], [0] and [*]: ".spec.volumes[*].configMap.name". Values are strings, integers, booleans, or lists of them. */
    const char *json_path;
    /* The key of the label whose value is the value in the index. */
    const char *label;
} oarlock_index;

/* As an RBAC rule. `resources` must be set; no groups: the core group. */
typedef struct {
    const char *const *resources;
    const char *const *api_groups;
    const char *const *verbs;
    const char *const *resource_names;
    const char *const *namespaces;
} oarlock_permission;

/* A request that changes nothing although its method is not GET or HEAD. */
typedef struct {
    const char *method;
    /* The whole path, or its end after a `*`. */
    const char *path;
} oarlock_safe_request;

/* A key of the configuration. Once one is declared, keys that are not are refused. */
typedef struct {
    const char *key;
    /* JSON Schema of its value, as json_make reads it: "{'type': 'string'}". NULL: any. */
    const char *schema;
    bool required;
} oarlock_config_key;

/* What it answers at admission, in the shape of the webhook API. NULL and 0: the default. */
typedef struct {
    const char *const *operations;
    const char *const *api_groups;
    const char *const *api_versions;
    const char *const *resources;
    const char *scope;
    const char *failure_policy;
    const char *match_policy;
    const char *side_effects;
    const char *reinvocation_policy;
    /* JSON as json_make reads it. */
    const char *namespace_selector;
    const char *object_selector;
    const char *match_conditions;
    uint32_t timeout_seconds;
    /* Refuse what differs, instead of changing it. */
    bool validate;
} oarlock_admission_rule;

/* What a plugin is and asks for (wit/manifest.schema.json). Lists end with an empty entry, which OARLOCK_LIST adds; NULL: none. */
typedef struct {
    /* A DNS label of at most 40 characters that stays the same from version to version. */
    const char *name;
    const char *version;
    const char *description;
    const oarlock_primary *primaries;
    const oarlock_watch *watches;
    const oarlock_index *indexes;
    const oarlock_permission *permissions;
    const oarlock_admission_rule *admission;
    /* The definitions between whose versions the converter converts, each by its name: "networks.example.com". */
    const char *const *conversions;
    /* Scheme, host and port of what HTTP requests are sent to; keys of the configuration whose values are such URLs. */
    const char *const *http_origins;
    const char *const *http_origins_from_config;
    const oarlock_safe_request *http_safe_requests;
    const oarlock_config_key *config;
    /* Objects go only when `actual` says nothing exists any more: the host keeps a finalizer on them. */
    bool cleanup;
    /* The host keeps status.observedGeneration and the Ready condition. */
    bool manage_status;
    /* Keys reconciled at the same time. 0: 2. */
    uint32_t workers;
    /* Every key is reconciled again after this long. 0: 30. */
    uint32_t resync_seconds;
} oarlock_manifest;

/* The manifest as the document the host asks for. */
json *oarlock_manifest_document(oarlock_mem *mem, const oarlock_manifest *manifest);

/* ---- Conversion between the versions of a definition ---- */

/* A plugin whose manifest has `conversions` has a converter; only OARLOCK_CONVERTER makes one. */
typedef struct {
    /* Answers cx->object in the API version `desired`, for example "example.com/v2". Its apiVersion is another version of the same
     * definition. Kind, name, namespace and uid stay.
     *
     * The result depends on the arguments alone: only the log works in this call. Nothing may be lost on the way to another version and back:
     * oarlock_keep what a version lacks, and oarlock_restore it. The message of an error, of whatever type, is for the user whose request
     * fails: it says which field cannot be converted. */
    oarlock_error *(*convert)(oarlock_context *cx, const char *desired, const json **converted);
    const char *exported;
} oarlock_converter;

/* The component exports the interface `conversion` when its program refers to this. */
extern const char oarlock_conversion;
#define OARLOCK_CONVERTER(function) {(function), &oarlock_conversion}

/* Keeps a value that the object's new version lacks in an annotation, as JSON. NULL removes the annotation. */
void oarlock_keep(json *object, const char *annotation, const json *value);
/* Takes a value that oarlock_keep kept out of its annotation; NULL if there is none. An error when it is not JSON. */
oarlock_error *oarlock_restore(oarlock_context *cx, json *object, const char *annotation, const json **value);

/* ---- The plugin ---- */

/* Answers three questions about one object at a time. A program defines one, and calls it oarlock_plugin:
 *
 *     const oarlock_reconciler oarlock_plugin = {&manifest, desired, actual, patch};
 */
typedef struct {
    const oarlock_manifest *manifest;
    /* The state the cluster asks for; `*state` starts as NULL: it should not exist. Not asked while the object is going. */
    oarlock_error *(*desired)(oarlock_context *cx, const json **state);
    /* The state the world is in. Asked again after a patch. */
    oarlock_error *(*actual)(oarlock_context *cx, oarlock_observation *out);
    /* The changes that move actual to desired. Only called when the two differ. */
    oarlock_error *(*patch)(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out);
    /* Only of a plugin that converts: OARLOCK_CONVERTER(convert). */
    oarlock_converter converter;
} oarlock_reconciler;

extern const oarlock_reconciler oarlock_plugin;

#ifdef __cplusplus
}
#endif
#endif
