/* Conversion of custom resources between the versions of their definition: what components and native tests have in common. */
#include "host.h"
#include "json.h"

/* Metadata of `object` that may be changed, with `annotations` that may be changed. */
static json *annotations_of(json *object) {
    const json *metadata = json_get(object, "metadata"), *found = json_get(metadata, "annotations");
    json *copy = json_copy(object->mem, metadata);
    json *annotations = json_type_of(found) == JSON_OBJECT ? json_copy(object->mem, found) : json_new_object(object->mem);
    if (!copy) copy = json_new_object(object->mem);
    json_set(copy, "annotations", annotations);
    json_set(object, "metadata", copy);
    return annotations;
}

static void without_empty_annotations(json *object) {
    const json *metadata = json_get(object, "metadata");
    if (json_count(json_get(metadata, "annotations"))) return;
    json *copy = json_copy(object->mem, metadata);
    json_set(copy, "annotations", NULL);
    json_set(object, "metadata", copy);
}

void oarlock_keep(json *object, const char *annotation, const json *value) {
    host_text text = {NULL, 0};
    if (value) text = oarlock_document(object->mem, value, "what an annotation keeps");
    json_set(annotations_of(object), annotation, value ? json_new_text_of(object->mem, text.text, text.len) : NULL);
    without_empty_annotations(object);
}

oarlock_error *oarlock_restore(oarlock_context *cx, json *object, const char *annotation, const json **value) {
    const char *problem = NULL;
    const json *kept = json_path(object, "metadata", "annotations", annotation);
    *value = NULL;
    if (!kept) return NULL;
    json_set(annotations_of(object), annotation, NULL);
    without_empty_annotations(object);
    *value = json_text(kept) ? json_parse(cx->mem, json_text(kept), json_text_len(kept), &problem) : NULL;
    if (!*value) return oarlock_terminal(cx, "annotation %s is not JSON, remove it: %s", annotation, problem ? problem : "no text");
    return NULL;
}

void oarlock_check_converter(const oarlock_reconciler *plugin) {
    const char *const *names = plugin->manifest->conversions;
    bool named = names && *names;
    if (named && !plugin->converter.convert)
        oarlock_panic("the manifest has conversions, but the plugin has no converter: OARLOCK_CONVERTER(convert)");
    if (!named && plugin->converter.convert)
        oarlock_panic("the plugin has a converter, but the manifest has no conversions: OARLOCK_STRINGS(\"things.example.com\")");
    if (plugin->converter.convert && !plugin->converter.exported)
        oarlock_panic("the converter is not exported: write OARLOCK_CONVERTER(convert) in place of {convert}");
}

static const char *text_of(const json *object, const char *field) {
    const char *text = json_text(json_path(object, "metadata", field));
    return text ? text : "";
}

oarlock_error *oarlock_convert(const oarlock_reconciler *plugin, oarlock_context *cx, const char *desired, const json **converted) {
    const char *version = json_text(json_get(cx->object, "apiVersion")), *kind = json_text(json_get(cx->object, "kind"));
    cx->kind = (oarlock_kind){version ? version : "", kind ? kind : ""};
    cx->ns = text_of(cx->object, "namespace");
    cx->name = text_of(cx->object, "name");
    cx->uid = text_of(cx->object, "uid");
    cx->attempt = 1;
    cx->correlation_id = "";
    cx->dry_run = true;
    *converted = NULL;
    oarlock_error *error = plugin->converter.convert(cx, desired, converted);
    if (!error && json_type_of(*converted) != JSON_OBJECT) oarlock_panic("the converter answered no object");
    return error;
}
