/* Conversion of one object, as the host would. */
#include "world.h"
#include <string.h>

/* In a component the export is behind it. */
const char oarlock_conversion = 1;

/* What the host refuses: an answer that is not the same object in the desired version. */
static oarlock_error *refused(oarlock_context *cx, const json *converted, const char *desired) {
    static const char *const fields[] = {"name", "namespace", "uid"};
    const char *version = json_text(json_get(converted, "apiVersion"));
    if (!version || strcmp(version, desired))
        return oarlock_terminal(cx, "the converter answered apiVersion %s instead of %s", version ? version : "(none)", desired);
    if (!json_equal(json_get(cx->object, "kind"), json_get(converted, "kind")))
        return oarlock_terminal(cx, "the converter answered another kind than the object has");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!json_equal(json_path(cx->object, "metadata", fields[i]), json_path(converted, "metadata", fields[i])))
            return oarlock_terminal(cx, "the converter answered another metadata.%s than the object has", fields[i]);
    return NULL;
}

const oarlock_error *oarlock_test_convert(oarlock_test *t, const char *desired, const json **converted, const char *text, ...) {
    if (!t->reconciler->converter.convert) oarlock_panic("the plugin has no converter: OARLOCK_CONVERTER(convert)");
    oarlock_context cx = {.mem = oarlock_mem_new()};
    const json *answer = NULL;
    va_list arguments;
    va_start(arguments, text);
    cx.object = json_vmake(cx.mem, text, arguments);
    va_end(arguments);
    t->log = json_new_array(t->mem);
    t->converting = true;
    oarlock_running = t;
    oarlock_error *error = oarlock_convert(t->reconciler, &cx, desired, &answer);
    oarlock_running = NULL;
    t->converting = false;
    if (!error) error = refused(&cx, answer, desired);
    *converted = error ? NULL : world_keep(t, answer, "the converted object");
    const oarlock_error *kept = world_keep_error(t, error);
    oarlock_mem_free(cx.mem);
    return kept;
}
