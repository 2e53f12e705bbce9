/* One object, reconciled as the host would. */
#include "world.h"
#include <stdlib.h>
#include <string.h>

oarlock_test *oarlock_test_new(const oarlock_reconciler *reconciler) {
    oarlock_mem *mem = oarlock_mem_new();
    oarlock_test *t = oarlock_alloc(mem, sizeof *t);
    *t = (oarlock_test){.mem = mem, .reconciler = reconciler, .attempt = 1};
    oarlock_check_converter(reconciler);
    t->config = json_new_object(mem);
    t->log = json_new_array(mem);
    t->requests = json_new_array(mem);
    t->manifest = world_keep(t, oarlock_manifest_document(mem, reconciler->manifest), "the manifest");
    return t;
}

void oarlock_test_free(oarlock_test *t) {
    if (t) oarlock_mem_free(t->mem);
}

void oarlock_test_config(oarlock_test *t, const char *key, const char *value) { json_set(t->config, key, json_new_text(t->mem, value)); }

static json *made(oarlock_test *t, const char *text, va_list arguments) { return json_vmake(t->mem, text, arguments); }

/* What a test gives as an object must be one. */
static record *stored(oarlock_test *t, const json *object) {
    record *known = world_store(t, object);
    if (!known) oarlock_panic("an object without apiVersion, kind or metadata.name: %s", json_print(t->mem, object, NULL));
    return known;
}

void oarlock_test_object(oarlock_test *t, const char *text, ...) {
    va_list arguments;
    va_start(arguments, text);
    const record *known = stored(t, made(t, text, arguments));
    va_end(arguments);
    t->kind = (oarlock_kind){known->api_version, known->kind};
    t->ns = known->ns;
    t->name = known->name;
    t->status = NULL;
}

void oarlock_test_put(oarlock_test *t, const char *text, ...) {
    va_list arguments;
    va_start(arguments, text);
    stored(t, made(t, text, arguments));
    va_end(arguments);
}

static record *primary(oarlock_test *t) { return t->name ? world_find(t, t->kind, t->ns, t->name) : NULL; }

void oarlock_test_edit(oarlock_test *t, const char *text, ...) {
    record *known = primary(t);
    if (!known) oarlock_panic("there is no object to edit");
    va_list arguments;
    va_start(arguments, text);
    stored(t, json_merge(t->mem, known->object, made(t, text, arguments)));
    va_end(arguments);
}

void oarlock_test_delete(oarlock_test *t) {
    record *known = primary(t);
    if (!known) oarlock_panic("there is no object to delete");
    if (t->reconciler->manifest->cleanup) {
        oarlock_test_edit(t, "{'metadata': {'deletionTimestamp': '2026-01-01T00:00:00Z'}}");
        return;
    }
    t->last_seen = known->object;
    t->uid = json_text(json_path(known->object, "metadata", "uid"));
    world_remove(t, known);
}

void oarlock_test_remove(oarlock_test *t, oarlock_kind kind, const char *ns, const char *name) {
    world_remove(t, world_find(t, kind, ns, name));
}

const json *oarlock_test_get(oarlock_test *t, oarlock_kind kind, const char *ns, const char *name) {
    const record *known = world_find(t, kind, ns, name);
    return known ? known->object : NULL;
}

const json *oarlock_test_current(oarlock_test *t) {
    const record *known = primary(t);
    return known ? known->object : NULL;
}

void oarlock_test_http(oarlock_test *t, oarlock_exchange exchange) {
    awaited *one = oarlock_alloc(t->mem, sizeof *one);
    *one = (awaited){.exchange = exchange};
    if (t->last_exchange) t->last_exchange->next = one;
    else t->exchanges = one;
    t->last_exchange = one;
}

size_t oarlock_test_http_left(oarlock_test *t) {
    size_t left = 0;
    for (const awaited *one = t->exchanges; one; one = one->next) left++;
    return left;
}

void oarlock_test_dry_run(oarlock_test *t) { t->dry_run = true; }

void oarlock_test_advance(oarlock_test *t, uint64_t ms) { t->now_ms += ms; }

void oarlock_test_restart(oarlock_test *t) {
    t->cache = NULL;
    t->attempt = 1;
}

/* One reconcile under way. */
typedef struct {
    oarlock_test *t;
    oarlock_report *report;
    /* What every call is asked; its `mem` is each call's own. */
    oarlock_context cx;
    const json *reviewed;
    bool under_review;
} run;

const oarlock_error *world_keep_error(oarlock_test *t, const oarlock_error *error) {
    if (!error) return NULL;
    oarlock_error *kept = oarlock_alloc(t->mem, sizeof *kept);
    *kept = *error;
    kept->message = world_text(t, error->message);
    kept->reason = world_text(t, error->reason);
    return kept;
}

/* The context of one call, in memory that goes with it: what a reconciler keeps longer is found by a sanitizer. */
static oarlock_context begin(const run *r) {
    oarlock_context cx = r->cx;
    cx.mem = oarlock_mem_new();
    const json *object = r->reviewed ? r->reviewed : r->cx.object;
    cx.object = object ? json_parse_text(cx.mem, json_print(cx.mem, object, NULL), NULL) : NULL;
    return cx;
}

static const json *handed(oarlock_mem *mem, const json *value) {
    return value ? json_parse_text(mem, json_print(mem, value, NULL), NULL) : NULL;
}

static void earlier(oarlock_report *report, uint64_t ms) {
    if (ms && (!report->requeue_after_ms || ms < report->requeue_after_ms)) report->requeue_after_ms = ms;
}

static const oarlock_error *ask_desired(run *r) {
    if (r->cx.deleting) return NULL;
    oarlock_context cx = begin(r);
    const json *state = NULL;
    const oarlock_error *error = world_keep_error(r->t, r->t->reconciler->desired(&cx, &state));
    if (!error) r->report->desired = world_keep(r->t, state, "the desired state");
    oarlock_mem_free(cx.mem);
    return error;
}

static const oarlock_error *ask_actual(run *r) {
    oarlock_context cx = begin(r);
    oarlock_observation seen = {0};
    const oarlock_error *error = world_keep_error(r->t, r->t->reconciler->actual(&cx, &seen));
    if (!error) {
        if (seen.status && json_type_of(seen.status) != JSON_OBJECT) oarlock_panic("the status is not a JSON object");
        r->report->after = world_keep(r->t, seen.state, "the actual state");
        r->report->status = world_keep(r->t, seen.status, "the status");
        earlier(r->report, seen.requeue_after_ms);
    }
    oarlock_mem_free(cx.mem);
    return error;
}

static json *reference(oarlock_mem *mem, const oarlock_change *change) {
    json *made = json_make(mem, "{'apiVersion': %s, 'kind': %s, 'name': %s}", change->kind.api_version, change->kind.kind, change->name);
    if (change->ns && *change->ns) json_set(made, "namespace", json_new_text(mem, change->ns));
    return made;
}

static const json *told(oarlock_test *t, const oarlock_change *change) {
    static const char *const types[] = {"json", "merge", "strategic"};
    json *one = json_new_object(t->mem);
    const json *document = world_keep(t, change->document, "the document of a change");
    switch (change->type) {
    case OARLOCK_APPLY: json_set(one, "apply", document); break;
    case OARLOCK_CREATE: json_set(one, "create", document); break;
    case OARLOCK_PATCH: {
        json *patch = json_make(t->mem, "{'type': %s, 'patch': %j}", types[change->patch_type], document);
        if (change->kind.kind) json_set(patch, "target", reference(t->mem, change));
        json_set(one, "patch", patch);
        break;
    }
    case OARLOCK_DELETE: json_set(one, "delete", reference(t->mem, change)); break;
    }
    if (change->force) json_set(one, "force", json_new_bool(t->mem, true));
    if (change->subresource) json_set(one, "subresource", json_new_text(t->mem, change->subresource));
    if (change->if_uid) json_set(one, "ifUid", json_new_text(t->mem, change->if_uid));
    if (change->if_resource_version) json_set(one, "ifResourceVersion", json_new_text(t->mem, change->if_resource_version));
    return one;
}

/* What patch answered, for the report. */
static void tell(run *r, const oarlock_outcome *out) {
    oarlock_test *t = r->t;
    json *changes = json_new_array(t->mem), *warnings = json_new_array(t->mem);
    for (const oarlock_change *one = out->changes; one; one = one->next) json_append(changes, told(t, one));
    for (const oarlock_warning *one = out->warnings; one; one = one->next) json_append(warnings, json_new_text(t->mem, one->message));
    r->report->changes = changes;
    r->report->warnings = warnings;
    earlier(r->report, out->requeue_after_ms);
}

static json *events_of(oarlock_test *t, const oarlock_outcome *out) {
    json *events = json_new_array(t->mem);
    for (const oarlock_event *one = out->events; one; one = one->next)
        json_append(events, json_make(t->mem, "{'severity': %s, 'reason': %s, 'message': %s}",
                                      one->severity == OARLOCK_NORMAL ? "normal" : "warning", one->reason, one->message));
    return events;
}

static const oarlock_error *ask_patch(run *r) {
    oarlock_test *t = r->t;
    oarlock_context cx = begin(r);
    oarlock_outcome out = {.mem = cx.mem};
    const oarlock_error *error =
        world_keep_error(t, t->reconciler->patch(&cx, handed(cx.mem, r->report->desired), handed(cx.mem, r->report->before), &out));
    r->report->patched = true;
    if (!error) tell(r, &out);
    for (const oarlock_change *one = out.changes; !error && !t->dry_run && one; one = one->next) {
        const char *problem = world_carry_out(t, one, r->under_review ? &r->reviewed : NULL);
        if (problem) error = world_keep_error(t, oarlock_transient(&cx, "%s", problem));
    }
    /* Events are for changes that were carried out. */
    if (!error && !t->dry_run) r->report->events = events_of(t, &out);
    oarlock_mem_free(cx.mem);
    return error;
}

static const oarlock_error *converge(run *r) {
    const oarlock_error *error = ask_desired(r);
    if (!error) error = ask_actual(r);
    r->report->before = r->report->after;
    if (error || json_equal(r->report->desired, r->report->before)) return error;
    error = ask_patch(r);
    return error || r->t->dry_run ? error : ask_actual(r);
}

/* Status, and the end of an object that is going. */
static void settle(run *r) {
    oarlock_test *t = r->t;
    record *known = primary(t);
    if (t->dry_run || !known) return;
    if (r->report->status || t->status) {
        const json *status = r->report->status ? json_make(t->mem, "{'status': %j}", r->report->status) : json_new_object(t->mem);
        known = stored(t, world_over(t->mem, known->object, t->status, status));
        t->status = r->report->status ? status : NULL;
    }
    if (r->cx.deleting && !r->report->after) {
        t->last_seen = known->object;
        world_remove(t, known);
        r->report->gone = true;
    }
}

static oarlock_report *new_report(oarlock_test *t) {
    oarlock_report *report = oarlock_alloc(t->mem, sizeof *report);
    report->changes = report->events = report->warnings = json_new_array(t->mem);
    t->log = json_new_array(t->mem);
    t->requests = json_new_array(t->mem);
    return report;
}

static const oarlock_report *ran(run *r) {
    oarlock_running = r->t;
    r->report->error = converge(r);
    oarlock_running = NULL;
    r->report->in_sync = !r->report->error && json_equal(r->report->desired, r->report->after);
    r->report->log = r->t->log;
    r->report->requests = r->t->requests;
    return r->report;
}

const oarlock_report *oarlock_test_reconcile(oarlock_test *t) {
    if (!t->name) oarlock_panic("the test has no object: call oarlock_test_object first");
    const record *known = primary(t);
    if (known) t->last_seen = known->object;
    if (known) t->uid = json_text(json_path(known->object, "metadata", "uid"));
    run r = {.t = t, .report = new_report(t)};
    r.cx = (oarlock_context){
        .kind = t->kind,
        .ns = t->ns,
        .name = t->name,
        .uid = t->uid,
        .object = t->last_seen,
        .gone = !known,
        .deleting = !known || json_path(known->object, "metadata", "deletionTimestamp"),
        .trigger = t->attempt > 1 ? OARLOCK_RETRY : OARLOCK_EVENT,
        .attempt = t->attempt,
        .correlation_id = "native",
        .dry_run = t->dry_run,
    };
    const oarlock_report *report = ran(&r);
    t->attempt = report->error ? t->attempt + 1 : 1;
    if (!report->error) settle(&r);
    return report;
}

static const char *either(const json *object, const json *review, const char *field) {
    const char *own = json_text(json_path(object, "metadata", field)), *told = json_text(json_get(review, field));
    return own ? own : told ? told : "";
}

const oarlock_report *oarlock_test_admit(oarlock_test *t, const char *object_text, const char *review_text) {
    const json *object = json_make(t->mem, object_text), *review = json_make(t->mem, review_text);
    const char *api_version = json_text(json_get(object, "apiVersion")), *kind = json_text(json_get(object, "kind"));
    const char *uid = json_text(json_path(object, "metadata", "uid"));
    if (!api_version || !kind) oarlock_panic("an object without apiVersion or kind: %s", object_text);
    run r = {.t = t, .report = new_report(t), .reviewed = object, .under_review = true};
    r.cx = (oarlock_context){
        .kind = {api_version, kind},
        .ns = either(object, review, "namespace"),
        .name = either(object, review, "name"),
        .uid = uid ? uid : "",
        .object = object,
        .deleting = json_path(object, "metadata", "deletionTimestamp") != NULL,
        .trigger = OARLOCK_ADMISSION,
        .attempt = 1,
        .correlation_id = "native",
        .dry_run = t->dry_run,
        .review = review,
    };
    ran(&r);
    r.report->object = r.reviewed;
    return r.report;
}
