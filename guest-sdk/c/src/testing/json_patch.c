/* JSON patches (RFC 6902). */
#include "world.h"
#include <string.h>

typedef enum { ADD, REPLACE, REMOVE } edit;

/* The first part of a pointer, unescaped; `*rest` is what follows it, NULL after the last. */
static const char *first(oarlock_mem *mem, const char *pointer, const char **rest) {
    const char *end = strchr(pointer + 1, '/');
    size_t len = end ? (size_t)(end - pointer - 1) : strlen(pointer + 1);
    char *name = oarlock_copy(mem, pointer + 1, len), *to = name;
    for (const char *from = name; *from; from++) {
        if (from[0] == '~' && (from[1] == '0' || from[1] == '1')) *to++ = *++from == '0' ? '~' : '/';
        else *to++ = *from;
    }
    *to = '\0';
    *rest = end;
    return name;
}

/* A place of an array: 0 to `count`, where - is `count`. -1: none. */
static long place(const char *name, size_t count) {
    size_t at = 0;
    if (!strcmp(name, "-")) return (long)count;
    if (!*name || (name[0] == '0' && name[1])) return -1;
    for (; *name; name++) {
        if (*name < '0' || *name > '9' || at > count) return -1;
        at = at * 10 + (size_t)(*name - '0');
    }
    return at > count ? -1 : (long)at;
}

static const json *look_up(oarlock_mem *mem, const json *value, const char *pointer) {
    while (value && pointer && *pointer == '/') {
        const char *name = first(mem, pointer, &pointer);
        if (json_type_of(value) == JSON_ARRAY) {
            long at = place(name, json_count(value));
            value = at < 0 ? NULL : json_at(value, (size_t)at);
        } else {
            value = json_get(value, name);
        }
    }
    return value;
}

/* `value` with what is at `pointer` edited. NULL: there is no such place. */
static const json *edited(oarlock_mem *mem, const json *value, const char *pointer, edit how, const json *with) {
    if (!*pointer) return how == REMOVE ? NULL : with;
    if (*pointer != '/') return NULL;
    const char *rest, *name = first(mem, pointer, &rest);
    if (json_type_of(value) == JSON_OBJECT) {
        const json *known = json_get(value, name);
        const json *after = rest ? edited(mem, known, rest, how, with) : with;
        if (((rest || how != ADD) && !known) || (!after && (rest || how != REMOVE))) return NULL;
        json *copy = json_copy(mem, value);
        json_set(copy, name, rest ? after : how == REMOVE ? NULL : with);
        return copy;
    }
    if (json_type_of(value) != JSON_ARRAY) return NULL;
    long at = place(name, json_count(value));
    if (at < 0 || ((rest || how != ADD) && (size_t)at == json_count(value))) return NULL;
    const json *after = rest ? edited(mem, json_at(value, (size_t)at), rest, how, with) : with;
    if (rest && !after) return NULL;
    json *copy = json_new_array(mem);
    for (size_t i = 0; i <= json_count(value); i++) {
        bool here = i == (size_t)at;
        if (here && (rest || how != REMOVE)) json_append(copy, after);
        if (i < json_count(value) && (!here || (!rest && how == ADD))) json_append(copy, json_at(value, i));
    }
    return copy;
}

static const json *step(oarlock_mem *mem, const json *document, const json *operation) {
    const json *op = json_get(operation, "op"), *value = json_get(operation, "value");
    const char *path = json_text(json_get(operation, "path")), *from = json_text(json_get(operation, "from"));
    if (!path) return NULL;
    if (json_is(op, "test")) return json_equal(look_up(mem, document, path), value) ? document : NULL;
    if (json_is(op, "remove")) return edited(mem, document, path, REMOVE, NULL);
    if (json_is(op, "add") && value) return edited(mem, document, path, ADD, value);
    if (json_is(op, "replace") && value) return edited(mem, document, path, REPLACE, value);
    if (!from || !(json_is(op, "move") || json_is(op, "copy"))) return NULL;
    value = look_up(mem, document, from);
    if (value && json_is(op, "move")) document = edited(mem, document, from, REMOVE, NULL);
    return value && document ? edited(mem, document, path, ADD, value) : NULL;
}

const json *world_json_patch(oarlock_mem *mem, const json *document, const json *patch, const char **problem) {
    if (json_type_of(patch) != JSON_ARRAY) return *problem = "a JSON patch is an array", NULL;
    for (size_t i = 0; i < json_count(patch); i++) {
        document = step(mem, document, json_at(patch, i));
        if (!document) return *problem = oarlock_text(mem, "does not fit: %s", json_print(mem, json_at(patch, i), NULL)), NULL;
    }
    return document;
}
