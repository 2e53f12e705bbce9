/* Keeps the annotation example.com/greeting on every {{kind}}. */
#include <oarlock.h>
{{#types}}
/* Made of crd.yaml: make types. */
#include "api.h"
#include <string.h>
{{/types}}

#define GREETING "example.com/greeting"

static const oarlock_kind PRIMARY = {"{{api_version}}", "{{kind}}"};
static const oarlock_kind CONFIG_MAP = {"v1", "ConfigMap"};

static const oarlock_manifest manifest = {
    .name = "{{name}}",
    .version = "0.1.0",
    .description = "Greets every {{kind}}",
    .primaries = OARLOCK_LIST(oarlock_primary, {.kind = {"{{api_version}}", "{{kind}}"}}),
    /* No mapping is needed: the host wakes the objects that read the ConfigMap. */
    .watches = OARLOCK_LIST(oarlock_watch, {.kind = {"v1", "ConfigMap"}, .names = OARLOCK_STRINGS("greeting")}),
    .permissions = OARLOCK_LIST(oarlock_permission,
        {.api_groups = OARLOCK_STRINGS("{{group}}"), .resources = OARLOCK_STRINGS("{{plural}}"), .verbs = OARLOCK_STRINGS("patch")}),
    .config = OARLOCK_LIST(oarlock_config_key,
        {.key = "greeting", .schema = "{'type': 'string', 'default': 'Hello', 'description': 'The word to greet with'}"}),
};

/* The state the cluster asks for. Nothing is asked for while the object is going. */
static oarlock_error *desired(oarlock_context *cx, const json **state) {
    const json *settings;
    OARLOCK_TRY(oarlock_get_object(cx, CONFIG_MAP, cx->ns, "greeting", &settings));
    const char *word = json_text(json_path(settings, "data", "greeting"));
    if (!word) word = oarlock_config(cx, "greeting");
    *state = json_make(cx->mem, "{'greeting': %s}", oarlock_text(cx->mem, "%s, %s", word ? word : "Hello", cx->name));
    return NULL;
}

/* The state the world is in: none while there is no greeting. Asked again after the patch, so the object is read from the cluster:
 * cx->object stays the same. */
static oarlock_error *actual(oarlock_context *cx, oarlock_observation *out) {
    /* The annotation goes with the object. */
    if (cx->deleting) return NULL;
    const json *object;
    OARLOCK_TRY(oarlock_get_object(cx, PRIMARY, cx->ns, cx->name, &object));
{{#types}}
    if (!object) return NULL;
    const char *problem;
    const {{object_type}} *typed = {{object_type}}_parse(cx->mem, object, &problem);
    if (!typed) return oarlock_terminal(cx, "the {{kind}} does not fit its types: %s", problem);
    for (size_t i = 0; i < typed->metadata->annotations.count; i++) {
        if (strcmp(typed->metadata->annotations.items[i].key, GREETING)) continue;
        out->state = json_make(cx->mem, "{'greeting': %s}", typed->metadata->annotations.items[i].value);
    }
{{/types}}
{{^types}}
    const json *greeting = json_path(object, "metadata", "annotations", GREETING);
    if (greeting) out->state = json_make(cx->mem, "{'greeting': %j}", greeting);
{{/types}}
    return NULL;
}

/* What moves one to the other. Only asked when they differ. */
static oarlock_error *patch(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out) {
    (void)actual;
    const json *annotations = json_make(cx->mem, "{'metadata': {'annotations': {%s: %j}}}", GREETING, json_get(desired, "greeting"));
    oarlock_patch(out, PRIMARY, cx->ns, cx->name, OARLOCK_MERGE_PATCH, annotations);
    oarlock_record(out, OARLOCK_NORMAL, "Greeted", "%s", json_text(json_get(desired, "greeting")));
    return NULL;
}

const oarlock_reconciler oarlock_plugin = {&manifest, desired, actual, patch};
