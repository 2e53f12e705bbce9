/* The manifest as the document the host asks for. What is not set is left out: the schema has the defaults. */
#include "host.h"
#include "json.h"
#include "oarlock.h"
#include <string.h>

static void set_text(json *object, const char *name, const char *text) {
    if (text && *text) json_set(object, name, json_new_text(object->mem, text));
}

static json *texts(oarlock_mem *mem, const char *const *list) {
    json *array = json_new_array(mem);
    for (; list && *list; list++) json_append(array, json_new_text(mem, *list));
    return array;
}

static void set_texts(json *object, const char *name, const char *const *list) {
    if (list && *list) json_set(object, name, texts(object->mem, list));
}

/* JSON a developer wrote into the source. */
static void set_json(json *object, const char *name, const char *text) {
    if (text) json_set(object, name, json_make(object->mem, text));
}

static json *of_kind(oarlock_mem *mem, oarlock_kind kind) {
    const char *group, *version;
    oarlock_split_api_version(mem, kind.api_version, &group, &version);
    return json_make(mem, "{'group': %s, 'version': %s, 'kind': %s}", group, version, kind.kind);
}

/* NULL: none. */
static json *mapping(oarlock_mem *mem, const oarlock_watch *watch) {
    switch (watch->map_to) {
    case OARLOCK_READS: return NULL;
    case OARLOCK_OWNER_REFERENCE: return json_make(mem, "{'type': 'ownerReference'}");
    case OARLOCK_SAME_NAME: return json_make(mem, "{'type': 'sameName'}");
    case OARLOCK_LABEL: return json_make(mem, "{'type': 'label', 'key': %s}", watch->map_key);
    case OARLOCK_ANNOTATION: return json_make(mem, "{'type': 'annotation', 'key': %s}", watch->map_key);
    case OARLOCK_REFERENCED_BY: return json_make(mem, "{'type': 'referencedBy', 'pointer': %s}", watch->map_key);
    case OARLOCK_ALL: return json_make(mem, "{'type': 'all'}");
    case OARLOCK_CACHE_ONLY: break;
    }
    return json_make(mem, "{'type': 'cacheOnly'}");
}

static json *primaries(oarlock_mem *mem, const oarlock_primary *primary) {
    json *list = json_new_array(mem);
    for (; primary && primary->kind.kind; primary++) {
        json *one = of_kind(mem, primary->kind);
        set_texts(one, "namespaces", primary->namespaces);
        set_text(one, "labelSelector", primary->label_selector);
        set_text(one, "fieldSelector", primary->field_selector);
        if (primary->unmanaged_status) json_set(one, "manageStatus", json_new_bool(mem, false));
        json_append(list, one);
    }
    return list;
}

static json *watches(oarlock_mem *mem, const oarlock_watch *watch) {
    json *list = json_new_array(mem);
    for (; watch && watch->kind.kind; watch++) {
        json *one = of_kind(mem, watch->kind);
        set_texts(one, "names", watch->names);
        set_texts(one, "namespaces", watch->namespaces);
        set_text(one, "labelSelector", watch->label_selector);
        json_set(one, "mapTo", mapping(mem, watch));
        if (watch->primary.kind) json_set(one, "primary", of_kind(mem, watch->primary));
        json_append(list, one);
    }
    return list;
}

static json *indexes(oarlock_mem *mem, const oarlock_index *index) {
    json *list = json_new_array(mem);
    for (; index && index->name; index++) {
        json *one = of_kind(mem, index->kind);
        set_text(one, "name", index->name);
        set_text(one, "jsonPath", index->json_path);
        set_text(one, "label", index->label);
        json_append(list, one);
    }
    return list;
}

static json *permissions(oarlock_mem *mem, const oarlock_permission *permission) {
    static const char *const core[] = {"", NULL};
    json *list = json_new_array(mem);
    for (; permission && permission->resources; permission++) {
        json *one = json_new_object(mem);
        json_set(one, "apiGroups", texts(mem, permission->api_groups ? permission->api_groups : core));
        json_set(one, "resources", texts(mem, permission->resources));
        json_set(one, "verbs", texts(mem, permission->verbs));
        set_texts(one, "resourceNames", permission->resource_names);
        set_texts(one, "namespaces", permission->namespaces);
        json_append(list, one);
    }
    return list;
}

static json *admission(oarlock_mem *mem, const oarlock_admission_rule *rule) {
    json *list = json_new_array(mem);
    for (; rule && rule->operations; rule++) {
        json *one = json_new_object(mem);
        json_set(one, "operations", texts(mem, rule->operations));
        json_set(one, "apiGroups", texts(mem, rule->api_groups));
        json_set(one, "apiVersions", texts(mem, rule->api_versions));
        json_set(one, "resources", texts(mem, rule->resources));
        set_text(one, "scope", rule->scope);
        set_text(one, "failurePolicy", rule->failure_policy);
        set_text(one, "matchPolicy", rule->match_policy);
        set_text(one, "sideEffects", rule->side_effects);
        set_text(one, "reinvocationPolicy", rule->reinvocation_policy);
        set_json(one, "namespaceSelector", rule->namespace_selector);
        set_json(one, "objectSelector", rule->object_selector);
        set_json(one, "matchConditions", rule->match_conditions);
        if (rule->timeout_seconds) json_set(one, "timeoutSeconds", json_new_int(mem, rule->timeout_seconds));
        if (rule->validate) json_set(one, "validate", json_new_bool(mem, true));
        json_append(list, one);
    }
    return list;
}

static json *http(oarlock_mem *mem, const oarlock_manifest *manifest) {
    json *access = json_new_object(mem), *safe = json_new_array(mem);
    set_texts(access, "origins", manifest->http_origins);
    set_texts(access, "originsFromConfig", manifest->http_origins_from_config);
    for (const oarlock_safe_request *one = manifest->http_safe_requests; one && one->method; one++)
        json_append(safe, json_make(mem, "{'method': %s, 'path': %s}", one->method, one->path));
    if (json_count(safe)) json_set(access, "safeRequests", safe);
    return access;
}

static json *config(oarlock_mem *mem, const oarlock_config_key *key) {
    json *properties = json_new_object(mem), *required = json_new_array(mem);
    for (; key->key; key++) {
        json_set(properties, key->key, json_make(mem, key->schema ? key->schema : "{}"));
        if (key->required) json_append(required, json_new_text(mem, key->key));
    }
    return json_make(mem, "{'type': 'object', 'additionalProperties': false, 'properties': %j, 'required': %j}", properties, required);
}

json *oarlock_manifest_document(oarlock_mem *mem, const oarlock_manifest *manifest) {
    json *document = json_make(mem, "{'apiVersion': 'oarlock.dev/v1alpha1', 'kind': 'PluginManifest', 'name': %s, 'version': %s}",
                               manifest->name, manifest->version);
    set_text(document, "description", manifest->description);
    json_set(document, "primaries", primaries(mem, manifest->primaries));
    set_texts(document, "conversions", manifest->conversions);
    json *lists[] = {watches(mem, manifest->watches), indexes(mem, manifest->indexes), permissions(mem, manifest->permissions),
                     admission(mem, manifest->admission), http(mem, manifest)};
    const char *const names[] = {"watches", "indexes", "permissions", "admission", "http"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (json_count(lists[i])) json_set(document, names[i], lists[i]);
    if (manifest->config) json_set(document, "config", config(mem, manifest->config));
    if (manifest->cleanup) json_set(document, "cleanup", json_new_bool(mem, true));
    if (manifest->manage_status) json_set(document, "manageStatus", json_new_bool(mem, true));
    if (manifest->workers) json_set(document, "workers", json_new_int(mem, manifest->workers));
    if (manifest->resync_seconds) json_set(document, "resyncSeconds", json_new_int(mem, manifest->resync_seconds));
    return document;
}
