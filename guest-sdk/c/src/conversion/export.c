/* The export of a plugin that converts, beside those of wasm.c. It is in the component only when OARLOCK_CONVERTER refers to it. */
#include "../../gen/converter.h"
#include "../host.h"
#include "../json.h"
#include <stdlib.h>
#include <string.h>

#define EXPORTED(name) exports_oarlock_reconciler_conversion_##name

const char oarlock_conversion = 1;

/* Text in an answer, which the bindings free. */
static converter_string_t give(const char *text, size_t len) {
    uint8_t *copy = len ? malloc(len) : NULL;
    if (len && !copy) host_panic("out of memory");
    if (len) memcpy(copy, text, len);
    return (converter_string_t){copy, len};
}

bool EXPORTED(convert)(EXPORTED(json_t) * object, converter_string_t *desired, EXPORTED(json_t) * ret, converter_string_t *err) {
    oarlock_mem *mem = oarlock_mem_new();
    oarlock_context cx = {.mem = mem};
    const char *problem = NULL, *version = oarlock_copy(mem, desired->ptr, desired->len);
    cx.object = json_parse(mem, (const char *)object->ptr, object->len, &problem);
    if (!cx.object) oarlock_panic("the object: %s", problem);
    converter_string_free(object);
    converter_string_free(desired);
    const json *converted;
    const oarlock_error *error = oarlock_convert(&oarlock_plugin, &cx, version, &converted);
    if (error) {
        size_t len = strlen(error->message);
        const char *valid = oarlock_utf8(mem, error->message, &len);
        *err = give(valid, len);
    } else {
        host_text text = oarlock_document(mem, converted, "the converted object");
        *ret = give(text.text, text.len);
    }
    host_flush();
    oarlock_mem_free(mem);
    return !error;
}
