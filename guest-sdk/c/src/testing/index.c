/* The indexes of a manifest: a path of field names, ['name'], [0] and [*], or a label. */
#include "world.h"
#include <stdlib.h>
#include <string.h>

static bool scalar(oarlock_mem *mem, const json *value, const char *wanted) {
    int64_t number;
    switch (json_type_of(value)) {
    case JSON_STRING: return json_is(value, wanted);
    case JSON_BOOL: return !strcmp(json_true(value) ? "true" : "false", wanted);
    case JSON_NUMBER: return json_int(value, &number) && !strcmp(oarlock_text(mem, "%lld", (long long)number), wanted);
    default: return false;
    }
}

static bool found(oarlock_mem *mem, const json *value, const char *wanted) {
    if (json_type_of(value) != JSON_ARRAY) return scalar(mem, value, wanted);
    for (size_t i = 0; i < json_count(value); i++)
        if (scalar(mem, json_at(value, i), wanted)) return true;
    return false;
}

static bool follow(oarlock_mem *mem, const char *path, const json *value, const char *wanted);

static bool follow_each(oarlock_mem *mem, const char *path, const json *value, const char *wanted) {
    for (size_t i = 0; i < json_count(value); i++)
        if (follow(mem, path, json_at(value, i), wanted)) return true;
    return false;
}

static bool follow_item(oarlock_mem *mem, const char *path, const json *value, const char *wanted) {
    char *end;
    long place = strtol(path, &end, 10), count = (long)json_count(value);
    if (end == path || *end != ']') oarlock_panic("a native test cannot read the path of an index at [%s", path);
    if (place < 0) place += count;
    return json_type_of(value) == JSON_ARRAY && place >= 0 && place < count && follow(mem, end + 1, json_at(value, (size_t)place), wanted);
}

/* A name up to `stop`, or up to the next step. */
static const char *name_at(oarlock_mem *mem, const char **path, char stop) {
    char *name = oarlock_alloc(mem, strlen(*path) + 1);
    size_t len = 0;
    for (; **path && (stop ? **path != stop : !strchr(".[}", **path)); ++*path) {
        if (**path == '\\' && (*path)[1]) ++*path;
        name[len++] = **path;
    }
    return name;
}

static bool follow(oarlock_mem *mem, const char *path, const json *value, const char *wanted) {
    if (!value) return false;
    if (!*path || !strcmp(path, "}")) return found(mem, value, wanted);
    if (*path == '.') path++;
    if (*path == '*') return follow_each(mem, path + 1, value, wanted);
    if (!strncmp(path, "[*]", 3)) return follow_each(mem, path + 3, value, wanted);
    bool quoted = *path == '[' && (path[1] == '\'' || path[1] == '"');
    if (*path == '[' && !quoted) return follow_item(mem, path + 1, value, wanted);
    char stop = quoted ? path[1] : 0;
    const char *end = path + (quoted ? 2 : 0), *name = name_at(mem, &end, stop);
    if (quoted ? *end != stop || end[1] != ']' : !*name) oarlock_panic("a native test cannot read the path of an index at %s", path);
    return follow(mem, quoted ? end + 2 : end, json_get(value, name), wanted);
}

bool world_indexed(oarlock_mem *mem, const json *index, const json *object, const char *wanted) {
    const char *label = json_text(json_get(index, "label")), *path = json_text(json_get(index, "jsonPath"));
    if (label) return json_is(json_path(object, "metadata", "labels", label), wanted);
    return path && follow(mem, path + (*path == '{') + (path[*path == '{'] == '$'), object, wanted);
}
