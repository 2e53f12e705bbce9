/* JSON values: what they hold and how it is changed. */
#include "json.h"
#include "host.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Objects with more members than this get an index. */
enum { FEW = 8 };

json *json_new(oarlock_mem *mem, json_type type) {
    json *value = oarlock_alloc(mem, sizeof *value);
    value->type = type;
    value->mem = mem;
    return value;
}

json *json_new_spelled(oarlock_mem *mem, json_type type, const char *text, size_t len) {
    json *value = json_new(mem, type);
    value->text = text;
    value->len = len;
    return value;
}

json *json_new_null(oarlock_mem *mem) { return json_new(mem, JSON_NULL); }

json *json_new_bool(oarlock_mem *mem, bool truth) {
    json *value = json_new(mem, JSON_BOOL);
    value->truth = truth;
    return value;
}

json *json_new_int(oarlock_mem *mem, int64_t number) {
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0) *--at = '-';
    size_t len = (size_t)(digits + sizeof digits - at);
    return json_new_spelled(mem, JSON_NUMBER, oarlock_copy(mem, at, len), len);
}

json *json_new_double(oarlock_mem *mem, double number) {
    if (!isfinite(number)) return json_new_null(mem);
    char text[40];
    int len = 0;
    /* The shortest spelling that reads as the same number. */
    for (int digits = 15; digits <= 17; digits++) {
        len = snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    return json_new_spelled(mem, JSON_NUMBER, oarlock_copy(mem, text, (size_t)len), (size_t)len);
}

json *json_new_text_of(oarlock_mem *mem, const char *text, size_t len) {
    if (!text) return json_new_null(mem);
    const char *valid = oarlock_utf8(mem, text, &len);
    return json_new_spelled(mem, JSON_STRING, oarlock_copy(mem, valid, len), len);
}

json *json_new_text(oarlock_mem *mem, const char *text) { return json_new_text_of(mem, text, text ? strlen(text) : 0); }

json *json_new_array(oarlock_mem *mem) { return json_new(mem, JSON_ARRAY); }

json *json_new_object(oarlock_mem *mem) { return json_new(mem, JSON_OBJECT); }

json_type json_type_of(const json *value) { return value ? value->type : JSON_ABSENT; }

static bool is(const json *value, json_type type) { return value && value->type == type; }

static size_t slot(const json *object, const char *name, size_t len) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < len; i++) hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
    hash ^= hash >> 32;
    size_t at = (size_t)hash & (object->index_size - 1);
    while (object->index[at]) {
        const json_member *member = &object->members[object->index[at] - 1];
        if (member->len == len && !memcmp(member->name, name, len)) break;
        at = (at + 1) & (object->index_size - 1);
    }
    return at;
}

json_member *json_find(const json *object, const char *name, size_t len) {
    if (!is(object, JSON_OBJECT)) return NULL;
    if (object->index) {
        uint32_t place = object->index[slot(object, name, len)];
        return place ? &object->members[place - 1] : NULL;
    }
    for (size_t i = 0; i < object->count; i++) {
        json_member *member = &object->members[i];
        if (member->len == len && !memcmp(member->name, name, len)) return member;
    }
    return NULL;
}

/* Room for one more of `size` bytes each. */
static void *grown(json *value, void *old, size_t size) {
    if (value->count < value->room) return old;
    if (value->room > SIZE_MAX / 4 / size) oarlock_panic("out of memory");
    value->room = value->room ? value->room * 2 : 4;
    void *fresh = oarlock_alloc(value->mem, value->room * size);
    if (value->count) memcpy(fresh, old, value->count * size);
    return fresh;
}

static void reindex(json *object) {
    if (object->count <= FEW) {
        object->index = NULL;
        return;
    }
    if (!object->index || object->index_size < object->count * 2) {
        size_t size = object->index ? object->index_size : 16;
        while (size < object->count * 4) size *= 2;
        object->index = oarlock_alloc(object->mem, size * sizeof *object->index);
        object->index_size = size;
    } else {
        memset(object->index, 0, object->index_size * sizeof *object->index);
    }
    for (size_t i = 0; i < object->count; i++) {
        const json_member *member = &object->members[i];
        object->index[slot(object, member->name, member->len)] = (uint32_t)i + 1;
    }
}

void json_put(json *object, const char *name, size_t len, const json *value) {
    json_member *known = json_find(object, name, len);
    if (known) {
        known->value = value;
        return;
    }
    object->members = grown(object, object->members, sizeof *object->members);
    object->members[object->count++] = (json_member){name, len, value};
    if (!object->index || object->index_size < object->count * 2) {
        reindex(object);
    } else {
        object->index[slot(object, name, len)] = (uint32_t)object->count;
    }
}

static void drop(json *object, json_member *member) {
    size_t after = object->count - (size_t)(member - object->members) - 1;
    memmove(member, member + 1, after * sizeof *member);
    object->count--;
    reindex(object);
}

void json_set(json *object, const char *name, const json *value) {
    if (!is(object, JSON_OBJECT)) oarlock_panic("json_set: a member %s of what is no object", name);
    size_t len = strlen(name);
    json_member *known = json_find(object, name, len);
    if (value && known) {
        known->value = value;
    } else if (value) {
        const char *valid = oarlock_utf8(object->mem, name, &len);
        json_put(object, oarlock_copy(object->mem, valid, len), len, value);
    } else if (known) {
        drop(object, known);
    }
}

void json_append(json *array, const json *item) {
    if (!is(array, JSON_ARRAY)) oarlock_panic("json_append: an item of what is no array");
    array->items = grown(array, (void *)array->items, sizeof *array->items);
    array->items[array->count++] = item ? item : json_new_null(array->mem);
}

json *json_copy(oarlock_mem *mem, const json *value) {
    if (!value) return NULL;
    json *copy = json_new_spelled(mem, value->type, value->text, value->len);
    copy->truth = value->truth;
    if (value->type == JSON_ARRAY)
        for (size_t i = 0; i < value->count; i++) json_append(copy, value->items[i]);
    if (value->type == JSON_OBJECT)
        for (size_t i = 0; i < value->count; i++)
            json_put(copy, value->members[i].name, value->members[i].len, value->members[i].value);
    return copy;
}

const json *json_merge(oarlock_mem *mem, const json *value, const json *patch) {
    if (!is(patch, JSON_OBJECT)) return patch;
    json *merged = is(value, JSON_OBJECT) ? json_copy(mem, value) : json_new_object(mem);
    for (size_t i = 0; i < patch->count; i++) {
        const json_member *member = &patch->members[i];
        json_member *known = json_find(merged, member->name, member->len);
        if (is(member->value, JSON_NULL)) {
            if (known) drop(merged, known);
        } else {
            json_put(merged, member->name, member->len, json_merge(mem, known ? known->value : NULL, member->value));
        }
    }
    return merged;
}

const json *json_get(const json *object, const char *name) {
    const json_member *member = json_find(object, name, strlen(name));
    return member ? member->value : NULL;
}

const json *json_path_to(const json *value, const char *const *names) {
    for (; value && *names; names++) value = json_get(value, *names);
    return value;
}

size_t json_count(const json *value) { return value ? value->count : 0; }

const json *json_at(const json *value, size_t place) {
    if (place >= json_count(value)) return NULL;
    return value->type == JSON_ARRAY ? value->items[place] : value->members[place].value;
}

const char *json_name(const json *object, size_t place) {
    return is(object, JSON_OBJECT) && place < object->count ? object->members[place].name : NULL;
}

const char *json_text(const json *value) { return is(value, JSON_STRING) ? value->text : NULL; }

size_t json_text_len(const json *value) { return is(value, JSON_STRING) ? value->len : 0; }

bool json_is(const json *value, const char *text) {
    return is(value, JSON_STRING) && value->len == strlen(text) && !memcmp(value->text, text, value->len);
}

bool json_true(const json *value) { return is(value, JSON_BOOL) && value->truth; }

bool json_int(const json *value, int64_t *number) {
    if (!is(value, JSON_NUMBER)) return false;
    uint64_t sum = 0;
    bool negative = value->text[0] == '-';
    for (size_t i = negative; i < value->len; i++) {
        unsigned digit = (unsigned char)value->text[i] - '0';
        if (digit > 9 || sum > (UINT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    uint64_t most = (uint64_t)INT64_MAX + negative;
    if (sum > most) return false;
    *number = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

bool json_double(const json *value, double *number) {
    if (!is(value, JSON_NUMBER)) return false;
    *number = strtod(value->text, NULL);
    return true;
}
