/* From values to text. */
#include "json.h"
#include "host.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    oarlock_mem *mem;
    char *text;
    size_t len, room;
    bool too_deep;
} writer;

static void put(writer *w, const char *text, size_t len) {
    if (len > SIZE_MAX / 4 - w->len) oarlock_panic("out of memory");
    if (w->room - w->len <= len) {
        while (w->room - w->len <= len) w->room = w->room ? w->room * 2 : 256;
        char *larger = realloc(w->text, w->room);
        if (!larger) oarlock_panic("out of memory");
        w->text = larger;
    }
    if (len) memcpy(w->text + w->len, text, len);
    w->len += len;
}

static void put_string(writer *w, const char *text, size_t len) {
    static const char hex[] = "0123456789abcdef";
    const char *end = text + len, *plain = text;
    put(w, "\"", 1);
    for (const char *at = text; at < end; at++) {
        unsigned char c = (unsigned char)*at;
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        put(w, plain, (size_t)(at - plain));
        plain = at + 1;
        char escape[6] = {'\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15]};
        const char *named = strchr("\bb\ff\nn\rr\tt", c);
        if (c == '"' || c == '\\') {
            put(w, escape, 2);
        } else if (c && named) {
            escape[1] = named[1];
            put(w, escape, 2);
        } else {
            escape[1] = 'u';
            put(w, escape, 6);
        }
    }
    put(w, plain, (size_t)(end - plain));
    put(w, "\"", 1);
}

static void put_value(writer *w, const json *value, int depth) {
    if (depth >= JSON_MAX_DEPTH && value->type >= JSON_ARRAY) {
        w->too_deep = true;
        return;
    }
    switch (value->type) {
    case JSON_BOOL: put(w, value->truth ? "true" : "false", value->truth ? 4 : 5); return;
    case JSON_NUMBER: put(w, value->text, value->len); return;
    case JSON_STRING: put_string(w, value->text, value->len); return;
    case JSON_ARRAY:
        put(w, "[", 1);
        for (size_t i = 0; i < value->count; i++) {
            if (i) put(w, ",", 1);
            put_value(w, value->items[i], depth + 1);
        }
        put(w, "]", 1);
        return;
    case JSON_OBJECT:
        put(w, "{", 1);
        for (size_t i = 0; i < value->count; i++) {
            if (i) put(w, ",", 1);
            put_string(w, value->members[i].name, value->members[i].len);
            put(w, ":", 1);
            put_value(w, value->members[i].value, depth + 1);
        }
        put(w, "}", 1);
        return;
    case JSON_ABSENT:
    case JSON_NULL: put(w, "null", 4);
    }
}

char *json_print(oarlock_mem *mem, const json *value, size_t *len) {
    writer w = {.mem = mem};
    if (!value) return NULL;
    put_value(&w, value, 0);
    put(&w, "", 0);
    w.text[w.len] = '\0';
    oarlock_adopt(mem, w.text);
    if (w.too_deep) return NULL;
    if (len) *len = w.len;
    return w.text;
}

host_text oarlock_document(oarlock_mem *mem, const json *value, const char *what) {
    host_text text = {0};
    text.text = json_print(mem, value, &text.len);
    if (!text.text) oarlock_panic("%s is %s", what, value ? "nested too deeply" : "missing");
    return text;
}

const char *oarlock_utf8(oarlock_mem *mem, const char *text, size_t *len) {
    const char *at = text, *end = text + *len;
    size_t bytes;
    while ((bytes = json_utf8(at, end))) at += bytes;
    if (at == end) return text;
    char *valid = oarlock_alloc(mem, *len * 3 + 1), *to = valid;
    for (at = text; at < end; at += bytes) {
        bytes = json_utf8(at, end);
        const char *from = bytes ? at : "\xEF\xBF\xBD";
        size_t copied = bytes ? bytes : 3;
        memcpy(to, from, copied);
        to += copied;
        if (!bytes) bytes = 1;
    }
    *len = (size_t)(to - valid);
    return valid;
}
