/* Converts Gauges between v1 (one size) and v2 (sizes). An object whose name begins with `trap-` or `refuse-` makes it misbehave in that way. */
#include <oarlock.h>
#include <string.h>

#define MORE_SIZES "convert.example.com/more-sizes"

static const oarlock_manifest manifest = {
    .name = "converter", .version = "1", .conversions = OARLOCK_STRINGS("gauges.convert.example.com")};

static oarlock_error *desired(oarlock_context *cx, const json **state) {
    (void)cx, (void)state;
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

static bool converts(oarlock_context *cx, const char *desired, const char *from, const char *to) {
    return !strcmp(cx->kind.api_version, from) && !strcmp(desired, to);
}

static oarlock_error *convert(oarlock_context *cx, const char *desired, const json **converted) {
    oarlock_log(OARLOCK_INFO, "to %s: %s", desired, cx->name);
    if (!strncmp(cx->name, "trap-", 5)) oarlock_panic("as asked");
    if (!strncmp(cx->name, "refuse-", 7)) return oarlock_terminal(cx, "spec.size: refused as asked");
    json *object = json_copy(cx->mem, cx->object), *list = json_new_array(cx->mem);
    if (converts(cx, desired, "convert.example.com/v1", "convert.example.com/v2")) {
        const json *more;
        OARLOCK_TRY(oarlock_restore(cx, object, MORE_SIZES, &more));
        json_append(list, json_path(object, "spec", "size"));
        for (size_t i = 0; i < json_count(more); i++) json_append(list, json_at(more, i));
        json_set(object, "spec", json_make(cx->mem, "{'sizes': %j}", list));
    } else if (converts(cx, desired, "convert.example.com/v2", "convert.example.com/v1")) {
        const json *sizes = json_path(object, "spec", "sizes");
        if (!json_count(sizes)) return oarlock_terminal(cx, "spec.sizes is empty, and v1 has exactly one size");
        for (size_t i = 1; i < json_count(sizes); i++) json_append(list, json_at(sizes, i));
        json_set(object, "spec", json_make(cx->mem, "{'size': %j}", json_at(sizes, 0)));
        oarlock_keep(object, MORE_SIZES, json_count(list) ? list : NULL);
    } else {
        return oarlock_terminal(cx, "Gauge has no conversion from %s to %s", cx->kind.api_version, desired);
    }
    json_set(object, "apiVersion", json_new_text(cx->mem, desired));
    *converted = object;
    return NULL;
}

const oarlock_reconciler oarlock_plugin = {&manifest, desired, actual, patch, OARLOCK_CONVERTER(convert)};
