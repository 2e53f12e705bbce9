/* The inside of JSON values. Private to the SDK. */
#ifndef OARLOCK_JSON_INSIDE_H
#define OARLOCK_JSON_INSIDE_H

#include "oarlock/json.h"
#include <stdarg.h>

typedef struct {
    const char *name;
    size_t len;
    const json *value;
} json_member;

struct json {
    json_type type;
    bool truth;
    oarlock_mem *mem;
    /* Strings: the text. Numbers: as they are spelled. With a NUL after it. */
    const char *text;
    size_t len;
    /* Arrays. */
    const json **items;
    /* Objects. */
    json_member *members;
    size_t count, room;
    /* Larger objects: places in `members` plus 1, found by the hash of the name; 0 is free. A power of two, at most half full. */
    uint32_t *index;
    size_t index_size;
};

typedef struct {
    va_list list;
} json_arguments;

json *json_new(oarlock_mem *mem, json_type type);
/* `text` is not copied. */
json *json_new_spelled(oarlock_mem *mem, json_type type, const char *text, size_t len);
json_member *json_find(const json *object, const char *name, size_t len);
/* `name` is not copied. */
void json_put(json *object, const char *name, size_t len, const json *value);
/* With `arguments` what json_make takes, without them JSON alone. */
json *json_read(oarlock_mem *mem, const char *text, size_t len, json_arguments *arguments, const char **problem);
json *json_vmake(oarlock_mem *mem, const char *text, va_list list);
/* How many bytes of `text` are one character of UTF-8; 0: none. */
size_t json_utf8(const char *text, const char *end);
/* Whether two JSON numbers are the same one, however they are spelled. */
bool json_same_number(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
