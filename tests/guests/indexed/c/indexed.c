/* The object's data.uses names a Secret; the state is the ConfigMaps that use the same. For tests of declared indexes. */
#include <oarlock.h>

static const oarlock_kind CONFIG_MAP = {"v1", "ConfigMap"};

static const oarlock_manifest manifest = {
    .name = "indexed",
    .version = "1",
    .primaries = OARLOCK_LIST(oarlock_primary, {.kind = {"v1", "ConfigMap"}}),
    .indexes = OARLOCK_LIST(oarlock_index, {"by-secret", {"v1", "ConfigMap"}, .json_path = ".data['uses']"}),
};

static oarlock_error *desired(oarlock_context *cx, const json **state) {
    const json *data = json_get(cx->object, "data"), *users = NULL;
    const char *index = json_text(json_get(data, "index")), *names = "";
    OARLOCK_TRY(oarlock_list_indexed(cx, CONFIG_MAP, index ? index : "by-secret", json_text(json_get(data, "uses")),
                                     (oarlock_list_options){.ns = cx->ns}, &users));
    for (size_t i = 0; i < json_count(users); i++)
        names = oarlock_text(cx->mem, "%s%s%s", names, i ? " " : "", json_text(json_path(json_at(users, i), "metadata", "name")));
    *state = json_new_text(cx->mem, names);
    return NULL;
}

static oarlock_error *actual(oarlock_context *cx, oarlock_observation *out) {
    (void)cx, (void)out;
    return NULL;
}

static oarlock_error *patch(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out) {
    (void)cx, (void)desired, (void)actual, (void)out;
    return NULL;
}

const oarlock_reconciler oarlock_plugin = {&manifest, desired, actual, patch};
