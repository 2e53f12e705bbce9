/* Conversion, in native tests: a converter that does what the object says. */
#include <oarlock/testing.h>
#include <string.h>

#define V1(more) "{'apiVersion': 'example.com/v1', 'kind': 'Thing', 'metadata': {'name': 'a', 'namespace': 'b', 'uid': 'u'}, " more "}"

static const oarlock_manifest manifest = {.name = "things", .version = "1", .conversions = OARLOCK_STRINGS("things.example.com")};

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

static oarlock_error *convert(oarlock_context *cx, const char *desired, const json **converted) {
    json *object = json_copy(cx->mem, cx->object);
    const json *change = json_path(object, "spec", "change");
    if (json_is(change, "refuse")) return oarlock_terminal(cx, "%s %s/%s: spec.change is odd", cx->kind.api_version, cx->ns, cx->name);
    oarlock_log(OARLOCK_INFO, "to %s", desired);
    if (!json_is(change, "version")) json_set(object, "apiVersion", json_new_text(cx->mem, desired));
    if (json_is(change, "kind")) json_set(object, "kind", NULL);
    if (json_is(change, "uid")) json_set(object, "metadata", json_make(cx->mem, "{'name': %s, 'namespace': %s}", cx->name, cx->ns));
    *converted = object;
    return NULL;
}

const oarlock_reconciler oarlock_plugin = {&manifest, desired, actual, patch, OARLOCK_CONVERTER(convert)};

static void what_is_kept_is_restored_and_leaves_no_trace(void) {
    oarlock_mem *mem = oarlock_mem_new();
    oarlock_context cx = {.mem = mem};
    const json *value;
    json *object = json_make(mem, "{'metadata': {'name': 'a'}}");
    oarlock_keep(object, "example.com/x", json_make(mem, "{'a': [1, '\\\"']}"));
    OARLOCK_CHECK_TEXT(json_text(json_path(object, "metadata", "annotations", "example.com/x")), "{\"a\":[1,\"\\\"\"]}");
    OARLOCK_CHECK(!oarlock_restore(&cx, object, "example.com/x", &value));
    OARLOCK_CHECK_JSON(value, "{'a': [1, '\\\"']}");
    OARLOCK_CHECK_JSON(object, "{'metadata': {'name': 'a'}}");
    OARLOCK_CHECK(!oarlock_restore(&cx, object, "example.com/x", &value) && !value);
    oarlock_keep(object, "example.com/x", NULL);
    OARLOCK_CHECK_JSON(object, "{'metadata': {'name': 'a'}}");
    object = json_make(mem, "{'metadata': {'annotations': {'example.com/x': '{', 'other': '1'}}}");
    const oarlock_error *error = oarlock_restore(&cx, object, "example.com/x", &value);
    OARLOCK_CHECK(error && !strncmp(error->message, "annotation example.com/x is not JSON", 36));
    oarlock_mem_free(mem);
}

static void the_manifest_names_the_definitions(void) {
    oarlock_mem *mem = oarlock_mem_new();
    OARLOCK_CHECK_JSON(json_get(oarlock_manifest_document(mem, &manifest), "conversions"), "['things.example.com']");
    oarlock_mem_free(mem);
}

static void an_object_is_converted(void) {
    oarlock_test *t = oarlock_test_new(&oarlock_plugin);
    const json *converted;
    OARLOCK_CHECK(!oarlock_test_convert(t, "example.com/v2", &converted, V1("'spec': %j"), NULL));
    OARLOCK_CHECK_JSON(converted, "{'apiVersion': 'example.com/v2', 'kind': 'Thing', 'metadata': {'name': 'a', 'namespace': 'b', 'uid': 'u'}, 'spec': null}");
    oarlock_test_free(t);
}

static void a_failed_conversion_and_an_answer_that_the_host_refuses_are_errors(void) {
    static const struct { const char *change, *message; } cases[] = {
        {"refuse", "example.com/v1 b/a: spec.change is odd"},
        {"version", "the converter answered apiVersion example.com/v1 instead of example.com/v2"},
        {"kind", "the converter answered another kind than the object has"},
        {"uid", "the converter answered another metadata.uid than the object has"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oarlock_test *t = oarlock_test_new(&oarlock_plugin);
        const json *converted;
        const oarlock_error *error = oarlock_test_convert(t, "example.com/v2", &converted, V1("'spec': {'change': %s}"), cases[i].change);
        OARLOCK_CHECK_TEXT(error ? error->message : NULL, cases[i].message);
        OARLOCK_CHECK(!converted);
        oarlock_test_free(t);
    }
}

int main(void) {
    OARLOCK_RUN(what_is_kept_is_restored_and_leaves_no_trace);
    OARLOCK_RUN(the_manifest_names_the_definitions);
    OARLOCK_RUN(an_object_is_converted);
    OARLOCK_RUN(a_failed_conversion_and_an_answer_that_the_host_refuses_are_errors);
    return oarlock_test_end();
}
