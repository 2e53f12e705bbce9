/* JSON values: read, make, compare, print.
 *
 * Every value lives in an oarlock_mem and goes with it; nobody frees one. A value may be part of several others, so what was
 * put into an object or an array is not changed any more (it is const from then on).
 *
 * All readers take NULL, which is "absent", and answer NULL, 0 or false for it: places can be looked up in a chain. */
#ifndef OARLOCK_JSON_H
#define OARLOCK_JSON_H

#include "mem.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct json json;

typedef enum { JSON_ABSENT, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_type;

/* Objects and arrays within each other, at most. The host takes no deeper ones. */
#define JSON_MAX_DEPTH 127

/* Reads one document of `len` bytes of UTF-8 (RFC 8259). NULL when it is not one; then `*problem` (which may be NULL) says why and where.
 * Of two members with one name the later counts. Numbers keep their spelling, so large ones lose nothing. */
json *json_parse(oarlock_mem *mem, const char *text, size_t len, const char **problem);
/* The same of text that ends with NUL. */
json *json_parse_text(oarlock_mem *mem, const char *text, const char **problem);
/* The document in one line, with a NUL after it; `*len` (which may be NULL) is its length. NULL when it is nested too deeply. */
char *json_print(oarlock_mem *mem, const json *value, size_t *len);
/* Whether two values are the same: the order of members and the spelling of numbers (1, 1.0, 1e0) do not count. Absent is the same as
 * absent only. */
bool json_equal(const json *a, const json *b);

json_type json_type_of(const json *value);
/* A member of an object. */
const json *json_get(const json *object, const char *name);
/* A value within objects: json_path(object, "metadata", "annotations", "example.com/team"). */
#define json_path(value, ...) json_path_to(value, (const char *const[]){__VA_ARGS__, NULL})
const json *json_path_to(const json *value, const char *const *names);
/* Members of an object or items of an array. */
size_t json_count(const json *value);
/* The value at a place of an array or an object. */
const json *json_at(const json *value, size_t place);
/* The name at a place of an object, in the order they were read or set. */
const char *json_name(const json *object, size_t place);
/* The text of a string; NULL of anything else. It may hold NULs where the document did: json_text_len. */
const char *json_text(const json *value);
size_t json_text_len(const json *value);
/* Whether it is the string `text`. */
bool json_is(const json *value, const char *text);
/* Whether it is true. */
bool json_true(const json *value);
/* A whole number that fits: true, and `*number` is set. */
bool json_int(const json *value, int64_t *number);
/* A number: true, and `*number` is set. */
bool json_double(const json *value, double *number);

json *json_new_null(oarlock_mem *mem);
json *json_new_bool(oarlock_mem *mem, bool value);
json *json_new_int(oarlock_mem *mem, int64_t value);
/* What is not finite becomes null. */
json *json_new_double(oarlock_mem *mem, double value);
/* Copies the text; what is not UTF-8 is replaced by U+FFFD. NULL becomes null. */
json *json_new_text(oarlock_mem *mem, const char *text);
json *json_new_text_of(oarlock_mem *mem, const char *text, size_t len);
json *json_new_array(oarlock_mem *mem);
json *json_new_object(oarlock_mem *mem);
/* Sets a member; it is replaced where it is. A value of NULL removes it. The name is copied. */
void json_set(json *object, const char *name, const json *value);
/* Adds an item. */
void json_append(json *array, const json *item);
/* An object or array with the same parts, which may be changed without changing `value`. */
json *json_copy(oarlock_mem *mem, const json *value);
/* `value` changed by a JSON merge patch (RFC 7396). Neither is changed. */
const json *json_merge(oarlock_mem *mem, const json *value, const json *patch);

/* Makes a value as JSON text with places in it:
 *
 *     json_make(mem, "{'name': %s, 'replicas': %d, 'labels': %j}", name, 3, labels)
 *
 * Strings may stand in single quotes. %s is a string (const char *; also the name of a member), %j a value (const json *; absent becomes
 * null), %d an int, %l an int64_t, %f a double, %b a bool. Text that is no such document ends the call: it is a mistake in the program. */
json *json_make(oarlock_mem *mem, const char *text, ...);

#ifdef __cplusplus
}
#endif
#endif
