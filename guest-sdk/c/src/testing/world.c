/* Objects, and what changes do to them. */
#include "world.h"
#include <string.h>

oarlock_test *oarlock_running;

static const char *text_or_empty(const json *value) { return json_text(value) ? json_text(value) : ""; }

const char *world_text(oarlock_test *t, const char *text) { return text ? oarlock_copy(t->mem, text, strlen(text)) : NULL; }

const json *world_keep(oarlock_test *t, const json *value, const char *what) {
    if (!value) return NULL;
    host_text text = oarlock_document(t->mem, value, what);
    return json_parse(t->mem, text.text, text.len, NULL);
}

record *world_find(oarlock_test *t, oarlock_kind kind, const char *ns, const char *name) {
    for (record *one = t->records; one; one = one->next)
        if (!strcmp(one->api_version, kind.api_version) && !strcmp(one->kind, kind.kind) && !strcmp(one->ns, ns ? ns : "") &&
            !strcmp(one->name, name))
            return one;
    return NULL;
}

void world_remove(oarlock_test *t, record *gone) {
    for (record **at = &t->records; *at; at = &(*at)->next) {
        if (*at == gone) {
            *at = gone->next;
            return;
        }
    }
}

static bool named(const json *object) {
    return json_text(json_get(object, "apiVersion")) && json_text(json_get(object, "kind")) &&
           *text_or_empty(json_path(object, "metadata", "name"));
}

static int order(const record *a, const char *ns, const char *name) {
    int by_namespace = strcmp(a->ns, ns);
    return by_namespace ? by_namespace : strcmp(a->name, name);
}

record *world_store(oarlock_test *t, const json *object) {
    if (!named(object)) return NULL;
    object = world_keep(t, object, "an object");
    const json *metadata = json_get(object, "metadata");
    oarlock_kind kind = {json_text(json_get(object, "apiVersion")), json_text(json_get(object, "kind"))};
    const char *ns = text_or_empty(json_get(metadata, "namespace")), *name = json_text(json_get(metadata, "name"));
    record *known = world_find(t, kind, ns, name);
    t->written++;
    const char *old = known ? json_text(json_path(known->object, "metadata", "uid")) : NULL;
    const char *uid = json_text(json_get(metadata, "uid"));
    if (!uid) uid = old ? old : oarlock_text(t->mem, "uid-%llu", (unsigned long long)t->written);
    object = json_merge(t->mem, object,
                        json_make(t->mem, "{'metadata': {'uid': %s, 'resourceVersion': %s}}", uid,
                                  oarlock_text(t->mem, "%llu", (unsigned long long)t->written)));
    if (!known) {
        known = oarlock_alloc(t->mem, sizeof *known);
        *known = (record){.api_version = kind.api_version, .kind = kind.kind, .ns = ns, .name = name};
        record **at = &t->records;
        while (*at && order(*at, ns, name) < 0) at = &(*at)->next;
        known->next = *at;
        *at = known;
    }
    known->object = object;
    return known;
}

/* Takes out of `object` what `before` has and `now` has not. */
static const json *without(oarlock_mem *mem, const json *object, const json *before, const json *now) {
    if (json_type_of(object) != JSON_OBJECT || json_type_of(before) != JSON_OBJECT) return now ? object : NULL;
    json *left = json_copy(mem, object);
    for (size_t i = 0; i < json_count(before); i++) {
        const char *name = json_name(before, i);
        const json *value = json_get(object, name);
        if (value) json_set(left, name, without(mem, value, json_at(before, i), json_get(now, name)));
    }
    /* An object nobody wants and that is empty goes as well. */
    return now || json_count(left) ? left : NULL;
}

/* `object` with everything `document` says. Lists are taken as a whole. */
static const json *with(oarlock_mem *mem, const json *object, const json *document) {
    if (json_type_of(object) != JSON_OBJECT || json_type_of(document) != JSON_OBJECT) return document;
    json *merged = json_copy(mem, object);
    for (size_t i = 0; i < json_count(document); i++) {
        const char *name = json_name(document, i);
        json_set(merged, name, with(mem, json_get(object, name), json_at(document, i)));
    }
    return merged;
}

const json *world_over(oarlock_mem *mem, const json *object, const json *before, const json *now) {
    return with(mem, before ? without(mem, object, before, now) : object, now);
}

/* What `object` still has of `owned`, value for value. NULL: nothing. */
static const json *common(oarlock_mem *mem, const json *object, const json *owned) {
    if (json_type_of(object) != JSON_OBJECT || json_type_of(owned) != JSON_OBJECT) return json_equal(object, owned) ? owned : NULL;
    json *part = json_new_object(mem);
    for (size_t i = 0; i < json_count(owned); i++) {
        const char *name = json_name(owned, i);
        json_set(part, name, common(mem, json_get(object, name), json_at(owned, i)));
    }
    return json_count(part) || !json_count(owned) ? part : NULL;
}

const json *world_applied(oarlock_test *t, const record *of) {
    if (!of || !of->applied) return NULL;
    const json *part = common(t->mem, of->object, of->owned);
    if (json_equal(part, of->owned)) return of->applied;
    if (!part) return NULL;
    return json_merge(t->mem, part,
                      json_make(t->mem, "{'apiVersion': %s, 'kind': %s, 'metadata': {'name': %s, 'namespace': %s}}", of->api_version,
                                of->kind, of->name, *of->ns ? of->ns : NULL));
}

static const char *refused(oarlock_test *t, const oarlock_change *change, const record *known) {
    const json *metadata = json_get(known ? known->object : NULL, "metadata");
    const char *uid = change->if_uid, *version = change->if_resource_version;
    if ((!uid || json_is(json_get(metadata, "uid"), uid)) && (!version || json_is(json_get(metadata, "resourceVersion"), version)))
        return NULL;
    return oarlock_text(t->mem, "precondition failed: %s is not the object that was looked at", known ? known->name : "the object");
}

static const char *applied(oarlock_test *t, const oarlock_change *change) {
    const json *document = world_keep(t, change->document, "what is applied");
    if (!named(document)) return "apply: a document without apiVersion, kind or metadata.name";
    oarlock_kind kind = {json_text(json_get(document, "apiVersion")), json_text(json_get(document, "kind"))};
    record *known = world_find(t, kind, text_or_empty(json_path(document, "metadata", "namespace")),
                               json_text(json_path(document, "metadata", "name")));
    const char *problem = refused(t, change, known);
    if (problem) return problem;
    known = world_store(t, known ? world_over(t->mem, known->object, known->applied, document) : document);
    known->applied = document;
    known->owned = json_merge(t->mem, document,
                              json_make(t->mem, "{'apiVersion': null, 'kind': null, 'metadata': {'name': null, 'namespace': null}}"));
    if (!json_count(json_get(known->owned, "metadata")))
        known->owned = json_merge(t->mem, known->owned, json_make(t->mem, "{'metadata': null}"));
    return NULL;
}

static const char *patched(oarlock_test *t, const oarlock_change *change, const json **reviewed) {
    record *known = NULL;
    const json *object = reviewed ? *reviewed : NULL;
    if (change->kind.kind) {
        known = world_find(t, change->kind, change->ns, change->name);
        if (!known) return oarlock_text(t->mem, "patch: %s %s does not exist", change->kind.kind, change->name);
        object = known->object;
    }
    if (!object) return "patch: there is no object under review";
    const char *problem = refused(t, change, known);
    if (problem) return problem;
    const json *patch = world_keep(t, change->document, "a patch");
    switch (change->patch_type) {
    case OARLOCK_MERGE_PATCH: object = json_merge(t->mem, object, patch); break;
    case OARLOCK_JSON_PATCH: object = world_json_patch(t->mem, object, patch, &problem); break;
    case OARLOCK_STRATEGIC_MERGE_PATCH: return "patch: a native test does no strategic merge";
    }
    if (!object) return oarlock_text(t->mem, "patch: %s", problem);
    if (!known) *reviewed = object;
    else world_store(t, object);
    return NULL;
}

static const char *created(oarlock_test *t, const oarlock_change *change) {
    const json *document = world_keep(t, change->document, "what is created");
    if (!named(document)) return "create: a document without apiVersion, kind or metadata.name";
    oarlock_kind kind = {json_text(json_get(document, "apiVersion")), json_text(json_get(document, "kind"))};
    const char *name = json_text(json_path(document, "metadata", "name"));
    if (world_find(t, kind, text_or_empty(json_path(document, "metadata", "namespace")), name))
        return oarlock_text(t->mem, "create: %s %s already exists", kind.kind, name);
    world_store(t, document);
    return NULL;
}

static const char *deleted(oarlock_test *t, const oarlock_change *change) {
    record *known = world_find(t, change->kind, change->ns, change->name);
    if (!known) return NULL;
    const char *problem = refused(t, change, known);
    if (problem) return problem;
    if (json_count(json_path(known->object, "metadata", "finalizers"))) {
        world_store(t, json_merge(t->mem, known->object,
                                  json_make(t->mem, "{'metadata': {'deletionTimestamp': '2026-01-01T00:00:00Z'}}")));
    } else {
        world_remove(t, known);
    }
    return NULL;
}

const char *world_carry_out(oarlock_test *t, const oarlock_change *change, const json **reviewed) {
    switch (change->type) {
    case OARLOCK_APPLY: return applied(t, change);
    case OARLOCK_CREATE: return created(t, change);
    case OARLOCK_PATCH: return patched(t, change, reviewed);
    case OARLOCK_DELETE: return deleted(t, change);
    }
    return "a change of no known type";
}
