/* Types of example.com/v1 Difficult. Made by `oarlock types`; changes are lost.
 *
 * A pointer that is NULL, and an enum that is 0, is absent. A field with NAME_is_null may also be null.
 * difficult_v1_parse reads an object, and difficult_v1_write makes one. */
#ifndef DIFFICULT_V1_H
#define DIFFICULT_V1_H

#include <oarlock/json.h>
#include <string.h>

#define DIFFICULT_V1_API_VERSION "example.com/v1"
#define DIFFICULT_V1_KIND "Difficult"

typedef struct difficult_v1 difficult_v1;
typedef struct difficult_v1_spec difficult_v1_spec;
typedef struct difficult_v1_spec_open difficult_v1_spec_open;
typedef struct difficult_v1_spec_parts difficult_v1_spec_parts;
typedef struct difficult_v1_spec_rules difficult_v1_spec_rules;
typedef struct difficult_v1_spec_rules_spec difficult_v1_spec_rules_spec;
typedef struct difficult_v1_spec_target difficult_v1_spec_target;
typedef struct difficult_v1_object_meta difficult_v1_object_meta;
typedef struct difficult_v1_object_meta_owner_references difficult_v1_object_meta_owner_references;
typedef struct difficult_v1_string_map difficult_v1_string_map;
typedef struct difficult_v1_string_map_entry difficult_v1_string_map_entry;
typedef struct difficult_v1_bool_list difficult_v1_bool_list;
typedef struct difficult_v1_bool_list_or_null_map difficult_v1_bool_list_or_null_map;
typedef struct difficult_v1_bool_list_or_null_map_entry difficult_v1_bool_list_or_null_map_entry;
typedef struct difficult_v1_int32_or_null_list difficult_v1_int32_or_null_list;
typedef struct difficult_v1_int32_or_null_list_list difficult_v1_int32_or_null_list_list;
typedef struct difficult_v1_spec_parts_or_null_map difficult_v1_spec_parts_or_null_map;
typedef struct difficult_v1_spec_parts_or_null_map_entry difficult_v1_spec_parts_or_null_map_entry;
typedef struct difficult_v1_string_or_null_list difficult_v1_string_or_null_list;
typedef struct difficult_v1_int_or_string_or_null_list difficult_v1_int_or_string_or_null_list;
typedef struct difficult_v1_spec_rules_map difficult_v1_spec_rules_map;
typedef struct difficult_v1_spec_rules_map_entry difficult_v1_spec_rules_map_entry;
typedef struct difficult_v1_string_list difficult_v1_string_list;
typedef struct difficult_v1_object_meta_owner_references_list difficult_v1_object_meta_owner_references_list;

/* An integer, or a string where `text` is not NULL. */
typedef struct {
    int64_t number;
    const char *text;
} difficult_v1_int_or_string;

typedef enum {
    DIFFICULT_V1_SPEC_MODE_ABSENT = 0,
    DIFFICULT_V1_SPEC_MODE_EMPTY, /* "" */
    DIFFICULT_V1_SPEC_MODE_ON, /* "on" */
    DIFFICULT_V1_SPEC_MODE_ON2, /* "On" */
    DIFFICULT_V1_SPEC_MODE_ON3, /* "ON" */
    DIFFICULT_V1_SPEC_MODE_A_B, /* "a/"b" */
} difficult_v1_spec_mode;

typedef enum {
    DIFFICULT_V1_SPEC_PROTOCOL_ABSENT = 0,
    DIFFICULT_V1_SPEC_PROTOCOL_TCP, /* "TCP" */
    DIFFICULT_V1_SPEC_PROTOCOL_UDP, /* "UDP" */
} difficult_v1_spec_protocol;

/* `items` of NULL: absent. */
struct difficult_v1_string_map {
    difficult_v1_string_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_bool_list {
    bool *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_bool_list_or_null_map {
    difficult_v1_bool_list_or_null_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_int32_or_null_list {
    int32_t **items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_int32_or_null_list_list {
    difficult_v1_int32_or_null_list *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_spec_parts_or_null_map {
    difficult_v1_spec_parts_or_null_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_string_or_null_list {
    const char **items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_int_or_string_or_null_list {
    difficult_v1_int_or_string **items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_spec_rules_map {
    difficult_v1_spec_rules_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_string_list {
    const char **items;
    size_t count;
};

/* `items` of NULL: absent. */
struct difficult_v1_object_meta_owner_references_list {
    difficult_v1_object_meta_owner_references *items;
    size_t count;
};

/* A kind * / with / * difficult / names. */
struct difficult_v1 {
    const char *api_version;
    const char *kind;
    difficult_v1_object_meta *metadata;
    difficult_v1_spec *spec;
};

/*
 * Exactly one of: from, self.
 * At most one of: any, port.
 */
struct difficult_v1_spec {
    const char *empty;
    const char *other;
    bool *_3rd;
    const char *a_b;
    const json *any;
    /*
     * ``PEM``, or ''
     *
     * A Heading
     *
     * [it]: ends here ? ?/
     */
    const char *certificate;
    int64_t *code;
    const char *from;
    difficult_v1_string_map labels;
    int64_t *large;
    difficult_v1_int_or_string *limit;
    difficult_v1_bool_list_or_null_map lists;
    difficult_v1_int32_or_null_list_list matrix;
    difficult_v1_int_or_string *memory;
    /* Default: "on". */
    difficult_v1_spec_mode mode;
    const char *name;
    bool name_is_null;
    const char *none;
    difficult_v1_spec_open *open;
    difficult_v1_spec_parts_or_null_map parts;
    difficult_v1_string_or_null_list places;
    bool places_is_null;
    const char *pod_cidr;
    const char *pod_cidr2;
    difficult_v1_int_or_string *port;
    difficult_v1_int_or_string_or_null_list ports;
    difficult_v1_spec_protocol protocol;
    double *ratio;
    difficult_v1_spec_rules_map rules;
    const char *self;
    double *share;
    bool share_is_null;
    const char *since;
    /*
     * ``PEM``, or ''
     *
     * A Heading
     *
     * [it]: ends here
     */
    difficult_v1_spec_target *target;
    bool target_is_null;
    /* The keyword of Rust. */
    const char *type;
};

struct difficult_v1_spec_open {
    const char *other;
    /* An object with the fields outside the schema, or NULL. */
    const json *other2;
};

struct difficult_v1_spec_parts {
    int64_t *int_;
};

struct difficult_v1_spec_rules {
    difficult_v1_spec_rules_spec *spec;
};

struct difficult_v1_spec_rules_spec {
    const char *spec;
};

/*
 * ``PEM``, or ''
 *
 * A Heading
 *
 * [it]: ends here
 * Exactly one field.
 */
struct difficult_v1_spec_target {
    difficult_v1_string_list pod_ips;
    const char *url;
};

/* The metadata of an object. */
struct difficult_v1_object_meta {
    difficult_v1_string_map annotations;
    const char *creation_timestamp;
    const char *deletion_timestamp;
    difficult_v1_string_list finalizers;
    const char *generate_name;
    int64_t *generation;
    difficult_v1_string_map labels;
    const char *name;
    const char *namespace_;
    difficult_v1_object_meta_owner_references_list owner_references;
    const char *resource_version;
    const char *uid;
    /* An object with the fields outside the schema, or NULL. */
    const json *other;
};

/* An owner of the object. */
struct difficult_v1_object_meta_owner_references {
    const char *api_version;
    bool *block_owner_deletion;
    bool *controller;
    const char *kind;
    const char *name;
    const char *uid;
};

struct difficult_v1_string_map_entry {
    const char *key;
    const char *value;
};

struct difficult_v1_bool_list_or_null_map_entry {
    const char *key;
    difficult_v1_bool_list value;
};

struct difficult_v1_spec_parts_or_null_map_entry {
    const char *key;
    difficult_v1_spec_parts *value;
};

struct difficult_v1_spec_rules_map_entry {
    const char *key;
    difficult_v1_spec_rules value;
};

/* ---- Reading ---- */

typedef struct {
    oarlock_mem *mem;
    /* What is wrong, and where. */
    const char *problem;
} difficult_v1_reader;

static inline bool difficult_v1_wrong(difficult_v1_reader *in, const char *expected) {
    in->problem = oarlock_text(in->mem, ": not %s", expected);
    return false;
}

/* The problem is in this field. */
static inline bool difficult_v1_in_field(difficult_v1_reader *in, const char *name) {
    in->problem = oarlock_text(in->mem, ".%s%s", name, in->problem);
    return false;
}

static inline bool difficult_v1_in_list(difficult_v1_reader *in, size_t place) {
    in->problem = oarlock_text(in->mem, "[%zu]%s", place, in->problem);
    return false;
}

static inline bool difficult_v1_is(difficult_v1_reader *in, const json *value, json_type type, const char *expected) {
    return json_type_of(value) == type || difficult_v1_wrong(in, expected);
}

static inline bool difficult_v1_is_null(const json *value) {
    return json_type_of(value) == JSON_NULL;
}

static inline bool difficult_v1_has(const json *value) {
    return json_type_of(value) != JSON_ABSENT && json_type_of(value) != JSON_NULL;
}

static inline bool difficult_v1_string_read(difficult_v1_reader *in, const json *value, const char **out) {
    *out = json_text(value);
    if (!*out) return difficult_v1_wrong(in, "a string");
    return strlen(*out) == json_text_len(value) || difficult_v1_wrong(in, "a string without U+0000");
}

static inline bool difficult_v1_bool_read(difficult_v1_reader *in, const json *value, bool *out) {
    *out = json_true(value);
    return difficult_v1_is(in, value, JSON_BOOL, "true or false");
}

static inline bool difficult_v1_int64_read(difficult_v1_reader *in, const json *value, int64_t *out) {
    return json_int(value, out) || difficult_v1_wrong(in, "an integer of 64 bits");
}

static inline bool difficult_v1_int32_read(difficult_v1_reader *in, const json *value, int32_t *out) {
    int64_t number;
    if (!json_int(value, &number) || number < INT32_MIN || number > INT32_MAX) return difficult_v1_wrong(in, "an integer of 32 bits");
    *out = (int32_t)number;
    return true;
}

static inline bool difficult_v1_double_read(difficult_v1_reader *in, const json *value, double *out) {
    return json_double(value, out) || difficult_v1_wrong(in, "a number");
}

static inline bool difficult_v1_int_or_string_read(difficult_v1_reader *in, const json *value, difficult_v1_int_or_string *out) {
    out->text = NULL;
    if (json_type_of(value) == JSON_STRING) return difficult_v1_string_read(in, value, &out->text);
    return json_int(value, &out->number) || difficult_v1_wrong(in, "an integer or a string");
}

static inline const json *difficult_v1_int_or_string_write(oarlock_mem *mem, const difficult_v1_int_or_string *in) {
    return in->text ? json_new_text(mem, in->text) : json_new_int(mem, in->number);
}

static inline bool difficult_v1_read(difficult_v1_reader *in, const json *value, difficult_v1 *out);
static inline const json *difficult_v1_to_json(oarlock_mem *mem, const difficult_v1 *in);
static inline bool difficult_v1_spec_read(difficult_v1_reader *in, const json *value, difficult_v1_spec *out);
static inline const json *difficult_v1_spec_to_json(oarlock_mem *mem, const difficult_v1_spec *in);
static inline bool difficult_v1_spec_open_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_open *out);
static inline const json *difficult_v1_spec_open_to_json(oarlock_mem *mem, const difficult_v1_spec_open *in);
static inline bool difficult_v1_spec_parts_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_parts *out);
static inline const json *difficult_v1_spec_parts_to_json(oarlock_mem *mem, const difficult_v1_spec_parts *in);
static inline bool difficult_v1_spec_rules_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_rules *out);
static inline const json *difficult_v1_spec_rules_to_json(oarlock_mem *mem, const difficult_v1_spec_rules *in);
static inline bool difficult_v1_spec_rules_spec_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_rules_spec *out);
static inline const json *difficult_v1_spec_rules_spec_to_json(oarlock_mem *mem, const difficult_v1_spec_rules_spec *in);
static inline bool difficult_v1_spec_target_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_target *out);
static inline const json *difficult_v1_spec_target_to_json(oarlock_mem *mem, const difficult_v1_spec_target *in);
static inline bool difficult_v1_object_meta_read(difficult_v1_reader *in, const json *value, difficult_v1_object_meta *out);
static inline const json *difficult_v1_object_meta_to_json(oarlock_mem *mem, const difficult_v1_object_meta *in);
static inline bool difficult_v1_object_meta_owner_references_read(difficult_v1_reader *in, const json *value, difficult_v1_object_meta_owner_references *out);
static inline const json *difficult_v1_object_meta_owner_references_to_json(oarlock_mem *mem, const difficult_v1_object_meta_owner_references *in);
static inline bool difficult_v1_string_map_read(difficult_v1_reader *in, const json *value, difficult_v1_string_map *out);
static inline const json *difficult_v1_string_map_to_json(oarlock_mem *mem, const difficult_v1_string_map *in);
static inline bool difficult_v1_bool_list_read(difficult_v1_reader *in, const json *value, difficult_v1_bool_list *out);
static inline const json *difficult_v1_bool_list_to_json(oarlock_mem *mem, const difficult_v1_bool_list *in);
static inline bool difficult_v1_bool_list_or_null_map_read(difficult_v1_reader *in, const json *value, difficult_v1_bool_list_or_null_map *out);
static inline const json *difficult_v1_bool_list_or_null_map_to_json(oarlock_mem *mem, const difficult_v1_bool_list_or_null_map *in);
static inline bool difficult_v1_int32_or_null_list_read(difficult_v1_reader *in, const json *value, difficult_v1_int32_or_null_list *out);
static inline const json *difficult_v1_int32_or_null_list_to_json(oarlock_mem *mem, const difficult_v1_int32_or_null_list *in);
static inline bool difficult_v1_int32_or_null_list_list_read(difficult_v1_reader *in, const json *value, difficult_v1_int32_or_null_list_list *out);
static inline const json *difficult_v1_int32_or_null_list_list_to_json(oarlock_mem *mem, const difficult_v1_int32_or_null_list_list *in);
static inline bool difficult_v1_spec_parts_or_null_map_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_parts_or_null_map *out);
static inline const json *difficult_v1_spec_parts_or_null_map_to_json(oarlock_mem *mem, const difficult_v1_spec_parts_or_null_map *in);
static inline bool difficult_v1_string_or_null_list_read(difficult_v1_reader *in, const json *value, difficult_v1_string_or_null_list *out);
static inline const json *difficult_v1_string_or_null_list_to_json(oarlock_mem *mem, const difficult_v1_string_or_null_list *in);
static inline bool difficult_v1_int_or_string_or_null_list_read(difficult_v1_reader *in, const json *value, difficult_v1_int_or_string_or_null_list *out);
static inline const json *difficult_v1_int_or_string_or_null_list_to_json(oarlock_mem *mem, const difficult_v1_int_or_string_or_null_list *in);
static inline bool difficult_v1_spec_rules_map_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_rules_map *out);
static inline const json *difficult_v1_spec_rules_map_to_json(oarlock_mem *mem, const difficult_v1_spec_rules_map *in);
static inline bool difficult_v1_string_list_read(difficult_v1_reader *in, const json *value, difficult_v1_string_list *out);
static inline const json *difficult_v1_string_list_to_json(oarlock_mem *mem, const difficult_v1_string_list *in);
static inline bool difficult_v1_object_meta_owner_references_list_read(difficult_v1_reader *in, const json *value, difficult_v1_object_meta_owner_references_list *out);
static inline const json *difficult_v1_object_meta_owner_references_list_to_json(oarlock_mem *mem, const difficult_v1_object_meta_owner_references_list *in);

/* The text of a value; NULL of 0. */
static inline const char *difficult_v1_spec_mode_text(difficult_v1_spec_mode value) {
    static const char *const texts[] = {NULL, "", "on", "On", "ON", "a\"b"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool difficult_v1_spec_mode_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_mode *out) {
    for (int i = 1; i <= 5; i++) {
        *out = (difficult_v1_spec_mode)i;
        if (json_is(value, difficult_v1_spec_mode_text(*out))) return true;
    }
    return difficult_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *difficult_v1_spec_protocol_text(difficult_v1_spec_protocol value) {
    static const char *const texts[] = {NULL, "TCP", "UDP"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool difficult_v1_spec_protocol_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_protocol *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (difficult_v1_spec_protocol)i;
        if (json_is(value, difficult_v1_spec_protocol_text(*out))) return true;
    }
    return difficult_v1_wrong(in, "a value that the schema has");
}

static inline bool difficult_v1_string_map_read(difficult_v1_reader *in, const json *value, difficult_v1_string_map *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (!difficult_v1_string_read(in, value, &out->items[i].value)) return difficult_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *difficult_v1_string_map_to_json(oarlock_mem *mem, const difficult_v1_string_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, in->items[i].value);
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool difficult_v1_bool_list_read(difficult_v1_reader *in, const json *value, difficult_v1_bool_list *out) {
    if (!difficult_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!difficult_v1_bool_read(in, value, &out->items[i])) return difficult_v1_in_list(in, i);
    }
    return true;
}

static inline const json *difficult_v1_bool_list_to_json(oarlock_mem *mem, const difficult_v1_bool_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_bool(mem, in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool difficult_v1_bool_list_or_null_map_read(difficult_v1_reader *in, const json *value, difficult_v1_bool_list_or_null_map *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (difficult_v1_is_null(value)) continue;
        if (!difficult_v1_bool_list_read(in, value, &out->items[i].value)) return difficult_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *difficult_v1_bool_list_or_null_map_to_json(oarlock_mem *mem, const difficult_v1_bool_list_or_null_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = in->items[i].value.items ? difficult_v1_bool_list_to_json(mem, &in->items[i].value) : NULL;
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool difficult_v1_int32_or_null_list_read(difficult_v1_reader *in, const json *value, difficult_v1_int32_or_null_list *out) {
    if (!difficult_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (difficult_v1_is_null(value)) continue;
        out->items[i] = oarlock_alloc(in->mem, sizeof *out->items[i]);
        if (!difficult_v1_int32_read(in, value, out->items[i])) return difficult_v1_in_list(in, i);
    }
    return true;
}

static inline const json *difficult_v1_int32_or_null_list_to_json(oarlock_mem *mem, const difficult_v1_int32_or_null_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = in->items[i] ? json_new_int(mem, *in->items[i]) : NULL;
        json_append(out, value);
    }
    return out;
}

static inline bool difficult_v1_int32_or_null_list_list_read(difficult_v1_reader *in, const json *value, difficult_v1_int32_or_null_list_list *out) {
    if (!difficult_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!difficult_v1_int32_or_null_list_read(in, value, &out->items[i])) return difficult_v1_in_list(in, i);
    }
    return true;
}

static inline const json *difficult_v1_int32_or_null_list_list_to_json(oarlock_mem *mem, const difficult_v1_int32_or_null_list_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = difficult_v1_int32_or_null_list_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool difficult_v1_spec_parts_or_null_map_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_parts_or_null_map *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (difficult_v1_is_null(value)) continue;
        out->items[i].value = oarlock_alloc(in->mem, sizeof *out->items[i].value);
        if (!difficult_v1_spec_parts_read(in, value, out->items[i].value)) return difficult_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *difficult_v1_spec_parts_or_null_map_to_json(oarlock_mem *mem, const difficult_v1_spec_parts_or_null_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = in->items[i].value ? difficult_v1_spec_parts_to_json(mem, in->items[i].value) : NULL;
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool difficult_v1_string_or_null_list_read(difficult_v1_reader *in, const json *value, difficult_v1_string_or_null_list *out) {
    if (!difficult_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (difficult_v1_is_null(value)) continue;
        if (!difficult_v1_string_read(in, value, &out->items[i])) return difficult_v1_in_list(in, i);
    }
    return true;
}

static inline const json *difficult_v1_string_or_null_list_to_json(oarlock_mem *mem, const difficult_v1_string_or_null_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool difficult_v1_int_or_string_or_null_list_read(difficult_v1_reader *in, const json *value, difficult_v1_int_or_string_or_null_list *out) {
    if (!difficult_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (difficult_v1_is_null(value)) continue;
        out->items[i] = oarlock_alloc(in->mem, sizeof *out->items[i]);
        if (!difficult_v1_int_or_string_read(in, value, out->items[i])) return difficult_v1_in_list(in, i);
    }
    return true;
}

static inline const json *difficult_v1_int_or_string_or_null_list_to_json(oarlock_mem *mem, const difficult_v1_int_or_string_or_null_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = in->items[i] ? difficult_v1_int_or_string_write(mem, in->items[i]) : NULL;
        json_append(out, value);
    }
    return out;
}

static inline bool difficult_v1_spec_rules_map_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_rules_map *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (!difficult_v1_spec_rules_read(in, value, &out->items[i].value)) return difficult_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *difficult_v1_spec_rules_map_to_json(oarlock_mem *mem, const difficult_v1_spec_rules_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = difficult_v1_spec_rules_to_json(mem, &in->items[i].value);
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool difficult_v1_string_list_read(difficult_v1_reader *in, const json *value, difficult_v1_string_list *out) {
    if (!difficult_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!difficult_v1_string_read(in, value, &out->items[i])) return difficult_v1_in_list(in, i);
    }
    return true;
}

static inline const json *difficult_v1_string_list_to_json(oarlock_mem *mem, const difficult_v1_string_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool difficult_v1_object_meta_owner_references_list_read(difficult_v1_reader *in, const json *value, difficult_v1_object_meta_owner_references_list *out) {
    if (!difficult_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!difficult_v1_object_meta_owner_references_read(in, value, &out->items[i])) return difficult_v1_in_list(in, i);
    }
    return true;
}

static inline const json *difficult_v1_object_meta_owner_references_list_to_json(oarlock_mem *mem, const difficult_v1_object_meta_owner_references_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = difficult_v1_object_meta_owner_references_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool difficult_v1_read(difficult_v1_reader *in, const json *value, difficult_v1 *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (!difficult_v1_string_read(in, value, &out->api_version)) return difficult_v1_in_field(in, "apiVersion");
    value = json_get(object, "kind");
    if (!difficult_v1_string_read(in, value, &out->kind)) return difficult_v1_in_field(in, "kind");
    value = json_get(object, "metadata");
    if (!(out->metadata = oarlock_alloc(in->mem, sizeof *out->metadata), difficult_v1_object_meta_read(in, value, out->metadata))) return difficult_v1_in_field(in, "metadata");
    value = json_get(object, "spec");
    if (!(out->spec = oarlock_alloc(in->mem, sizeof *out->spec), difficult_v1_spec_read(in, value, out->spec))) return difficult_v1_in_field(in, "spec");
    return true;
}

static inline const json *difficult_v1_to_json(oarlock_mem *mem, const difficult_v1 *in) {
    json *out = json_new_object(mem);
    json_set(out, "apiVersion", json_new_text(mem, in->api_version ? in->api_version : "example.com/v1"));
    json_set(out, "kind", json_new_text(mem, in->kind ? in->kind : "Difficult"));
    json_set(out, "metadata", in->metadata ? difficult_v1_object_meta_to_json(mem, in->metadata) : json_new_null(mem));
    json_set(out, "spec", in->spec ? difficult_v1_spec_to_json(mem, in->spec) : json_new_null(mem));
    return out;
}

static inline bool difficult_v1_spec_read(difficult_v1_reader *in, const json *value, difficult_v1_spec *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->empty)) return difficult_v1_in_field(in, "");
    value = json_get(object, "-");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->other)) return difficult_v1_in_field(in, "-");
    value = json_get(object, "3rd");
    if (difficult_v1_has(value) && !(out->_3rd = oarlock_alloc(in->mem, sizeof *out->_3rd), difficult_v1_bool_read(in, value, out->_3rd))) return difficult_v1_in_field(in, "3rd");
    value = json_get(object, "a,b");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->a_b)) return difficult_v1_in_field(in, "a,b");
    value = json_get(object, "any");
    out->any = value;
    value = json_get(object, "certificate");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->certificate)) return difficult_v1_in_field(in, "certificate");
    value = json_get(object, "code");
    if (difficult_v1_has(value) && !(out->code = oarlock_alloc(in->mem, sizeof *out->code), difficult_v1_int64_read(in, value, out->code))) return difficult_v1_in_field(in, "code");
    value = json_get(object, "from");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->from)) return difficult_v1_in_field(in, "from");
    value = json_get(object, "labels");
    if (difficult_v1_has(value) && !difficult_v1_string_map_read(in, value, &out->labels)) return difficult_v1_in_field(in, "labels");
    value = json_get(object, "large");
    if (difficult_v1_has(value) && !(out->large = oarlock_alloc(in->mem, sizeof *out->large), difficult_v1_int64_read(in, value, out->large))) return difficult_v1_in_field(in, "large");
    value = json_get(object, "limit");
    if (!difficult_v1_is_null(value) && !(out->limit = oarlock_alloc(in->mem, sizeof *out->limit), difficult_v1_int_or_string_read(in, value, out->limit))) return difficult_v1_in_field(in, "limit");
    value = json_get(object, "lists");
    if (difficult_v1_has(value) && !difficult_v1_bool_list_or_null_map_read(in, value, &out->lists)) return difficult_v1_in_field(in, "lists");
    value = json_get(object, "matrix");
    if (difficult_v1_has(value) && !difficult_v1_int32_or_null_list_list_read(in, value, &out->matrix)) return difficult_v1_in_field(in, "matrix");
    value = json_get(object, "memory");
    if (difficult_v1_has(value) && !(out->memory = oarlock_alloc(in->mem, sizeof *out->memory), difficult_v1_int_or_string_read(in, value, out->memory))) return difficult_v1_in_field(in, "memory");
    value = json_get(object, "mode");
    if (!difficult_v1_spec_mode_read(in, value, &out->mode)) return difficult_v1_in_field(in, "mode");
    value = json_get(object, "name");
    out->name_is_null = difficult_v1_is_null(value);
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->name)) return difficult_v1_in_field(in, "name");
    value = json_get(object, "none");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->none)) return difficult_v1_in_field(in, "none");
    value = json_get(object, "open");
    if (difficult_v1_has(value) && !(out->open = oarlock_alloc(in->mem, sizeof *out->open), difficult_v1_spec_open_read(in, value, out->open))) return difficult_v1_in_field(in, "open");
    value = json_get(object, "parts");
    if (difficult_v1_has(value) && !difficult_v1_spec_parts_or_null_map_read(in, value, &out->parts)) return difficult_v1_in_field(in, "parts");
    value = json_get(object, "places");
    out->places_is_null = difficult_v1_is_null(value);
    if (difficult_v1_has(value) && !difficult_v1_string_or_null_list_read(in, value, &out->places)) return difficult_v1_in_field(in, "places");
    value = json_get(object, "pod-cidr");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->pod_cidr)) return difficult_v1_in_field(in, "pod-cidr");
    value = json_get(object, "podCIDR");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->pod_cidr2)) return difficult_v1_in_field(in, "podCIDR");
    value = json_get(object, "port");
    if (difficult_v1_has(value) && !(out->port = oarlock_alloc(in->mem, sizeof *out->port), difficult_v1_int_or_string_read(in, value, out->port))) return difficult_v1_in_field(in, "port");
    value = json_get(object, "ports");
    if (difficult_v1_has(value) && !difficult_v1_int_or_string_or_null_list_read(in, value, &out->ports)) return difficult_v1_in_field(in, "ports");
    value = json_get(object, "protocol");
    if (difficult_v1_has(value) && !difficult_v1_spec_protocol_read(in, value, &out->protocol)) return difficult_v1_in_field(in, "protocol");
    value = json_get(object, "ratio");
    if (difficult_v1_has(value) && !(out->ratio = oarlock_alloc(in->mem, sizeof *out->ratio), difficult_v1_double_read(in, value, out->ratio))) return difficult_v1_in_field(in, "ratio");
    value = json_get(object, "rules");
    if (difficult_v1_has(value) && !difficult_v1_spec_rules_map_read(in, value, &out->rules)) return difficult_v1_in_field(in, "rules");
    value = json_get(object, "self");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->self)) return difficult_v1_in_field(in, "self");
    value = json_get(object, "share");
    out->share_is_null = difficult_v1_is_null(value);
    if (difficult_v1_has(value) && !(out->share = oarlock_alloc(in->mem, sizeof *out->share), difficult_v1_double_read(in, value, out->share))) return difficult_v1_in_field(in, "share");
    value = json_get(object, "since");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->since)) return difficult_v1_in_field(in, "since");
    value = json_get(object, "target");
    out->target_is_null = difficult_v1_is_null(value);
    if (difficult_v1_has(value) && !(out->target = oarlock_alloc(in->mem, sizeof *out->target), difficult_v1_spec_target_read(in, value, out->target))) return difficult_v1_in_field(in, "target");
    value = json_get(object, "type");
    if (!difficult_v1_string_read(in, value, &out->type)) return difficult_v1_in_field(in, "type");
    return true;
}

static inline const json *difficult_v1_spec_to_json(oarlock_mem *mem, const difficult_v1_spec *in) {
    json *out = json_new_object(mem);
    if (in->empty) json_set(out, "", json_new_text(mem, in->empty));
    if (in->other) json_set(out, "-", json_new_text(mem, in->other));
    if (in->_3rd) json_set(out, "3rd", json_new_bool(mem, *in->_3rd));
    if (in->a_b) json_set(out, "a,b", json_new_text(mem, in->a_b));
    if (in->any) json_set(out, "any", in->any);
    if (in->certificate) json_set(out, "certificate", json_new_text(mem, in->certificate));
    if (in->code) json_set(out, "code", json_new_int(mem, *in->code));
    if (in->from) json_set(out, "from", json_new_text(mem, in->from));
    if (in->labels.items) json_set(out, "labels", difficult_v1_string_map_to_json(mem, &in->labels));
    if (in->large) json_set(out, "large", json_new_int(mem, *in->large));
    json_set(out, "limit", in->limit ? difficult_v1_int_or_string_write(mem, in->limit) : json_new_null(mem));
    if (in->lists.items) json_set(out, "lists", difficult_v1_bool_list_or_null_map_to_json(mem, &in->lists));
    if (in->matrix.items) json_set(out, "matrix", difficult_v1_int32_or_null_list_list_to_json(mem, &in->matrix));
    if (in->memory) json_set(out, "memory", difficult_v1_int_or_string_write(mem, in->memory));
    json_set(out, "mode", json_new_text(mem, difficult_v1_spec_mode_text(in->mode)));
    if (in->name || in->name_is_null) json_set(out, "name", in->name ? json_new_text(mem, in->name) : json_new_null(mem));
    if (in->none) json_set(out, "none", json_new_text(mem, in->none));
    if (in->open) json_set(out, "open", difficult_v1_spec_open_to_json(mem, in->open));
    if (in->parts.items) json_set(out, "parts", difficult_v1_spec_parts_or_null_map_to_json(mem, &in->parts));
    if (in->places.items || in->places_is_null) json_set(out, "places", in->places.items ? difficult_v1_string_or_null_list_to_json(mem, &in->places) : json_new_null(mem));
    if (in->pod_cidr) json_set(out, "pod-cidr", json_new_text(mem, in->pod_cidr));
    if (in->pod_cidr2) json_set(out, "podCIDR", json_new_text(mem, in->pod_cidr2));
    if (in->port) json_set(out, "port", difficult_v1_int_or_string_write(mem, in->port));
    if (in->ports.items) json_set(out, "ports", difficult_v1_int_or_string_or_null_list_to_json(mem, &in->ports));
    if (in->protocol) json_set(out, "protocol", json_new_text(mem, difficult_v1_spec_protocol_text(in->protocol)));
    if (in->ratio) json_set(out, "ratio", json_new_double(mem, *in->ratio));
    if (in->rules.items) json_set(out, "rules", difficult_v1_spec_rules_map_to_json(mem, &in->rules));
    if (in->self) json_set(out, "self", json_new_text(mem, in->self));
    if (in->share || in->share_is_null) json_set(out, "share", in->share ? json_new_double(mem, *in->share) : json_new_null(mem));
    if (in->since) json_set(out, "since", json_new_text(mem, in->since));
    if (in->target || in->target_is_null) json_set(out, "target", in->target ? difficult_v1_spec_target_to_json(mem, in->target) : json_new_null(mem));
    json_set(out, "type", json_new_text(mem, in->type));
    return out;
}

static inline bool difficult_v1_spec_open_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_open *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "other");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->other)) return difficult_v1_in_field(in, "other");
    json *rest = json_copy(in->mem, object);
    json_set(rest, "other", NULL);
    if (json_count(rest)) out->other2 = rest;
    return true;
}

static inline const json *difficult_v1_spec_open_to_json(oarlock_mem *mem, const difficult_v1_spec_open *in) {
    json *out = in->other2 ? json_copy(mem, in->other2) : json_new_object(mem);
    if (in->other) json_set(out, "other", json_new_text(mem, in->other));
    return out;
}

static inline bool difficult_v1_spec_parts_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_parts *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "int");
    if (difficult_v1_has(value) && !(out->int_ = oarlock_alloc(in->mem, sizeof *out->int_), difficult_v1_int64_read(in, value, out->int_))) return difficult_v1_in_field(in, "int");
    return true;
}

static inline const json *difficult_v1_spec_parts_to_json(oarlock_mem *mem, const difficult_v1_spec_parts *in) {
    json *out = json_new_object(mem);
    if (in->int_) json_set(out, "int", json_new_int(mem, *in->int_));
    return out;
}

static inline bool difficult_v1_spec_rules_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_rules *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "spec");
    if (difficult_v1_has(value) && !(out->spec = oarlock_alloc(in->mem, sizeof *out->spec), difficult_v1_spec_rules_spec_read(in, value, out->spec))) return difficult_v1_in_field(in, "spec");
    return true;
}

static inline const json *difficult_v1_spec_rules_to_json(oarlock_mem *mem, const difficult_v1_spec_rules *in) {
    json *out = json_new_object(mem);
    if (in->spec) json_set(out, "spec", difficult_v1_spec_rules_spec_to_json(mem, in->spec));
    return out;
}

static inline bool difficult_v1_spec_rules_spec_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_rules_spec *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "spec");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->spec)) return difficult_v1_in_field(in, "spec");
    return true;
}

static inline const json *difficult_v1_spec_rules_spec_to_json(oarlock_mem *mem, const difficult_v1_spec_rules_spec *in) {
    json *out = json_new_object(mem);
    if (in->spec) json_set(out, "spec", json_new_text(mem, in->spec));
    return out;
}

static inline bool difficult_v1_spec_target_read(difficult_v1_reader *in, const json *value, difficult_v1_spec_target *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "podIPs");
    if (difficult_v1_has(value) && !difficult_v1_string_list_read(in, value, &out->pod_ips)) return difficult_v1_in_field(in, "podIPs");
    value = json_get(object, "url");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->url)) return difficult_v1_in_field(in, "url");
    return true;
}

static inline const json *difficult_v1_spec_target_to_json(oarlock_mem *mem, const difficult_v1_spec_target *in) {
    json *out = json_new_object(mem);
    if (in->pod_ips.items) json_set(out, "podIPs", difficult_v1_string_list_to_json(mem, &in->pod_ips));
    if (in->url) json_set(out, "url", json_new_text(mem, in->url));
    return out;
}

static inline bool difficult_v1_object_meta_read(difficult_v1_reader *in, const json *value, difficult_v1_object_meta *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "annotations");
    if (difficult_v1_has(value) && !difficult_v1_string_map_read(in, value, &out->annotations)) return difficult_v1_in_field(in, "annotations");
    value = json_get(object, "creationTimestamp");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->creation_timestamp)) return difficult_v1_in_field(in, "creationTimestamp");
    value = json_get(object, "deletionTimestamp");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->deletion_timestamp)) return difficult_v1_in_field(in, "deletionTimestamp");
    value = json_get(object, "finalizers");
    if (difficult_v1_has(value) && !difficult_v1_string_list_read(in, value, &out->finalizers)) return difficult_v1_in_field(in, "finalizers");
    value = json_get(object, "generateName");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->generate_name)) return difficult_v1_in_field(in, "generateName");
    value = json_get(object, "generation");
    if (difficult_v1_has(value) && !(out->generation = oarlock_alloc(in->mem, sizeof *out->generation), difficult_v1_int64_read(in, value, out->generation))) return difficult_v1_in_field(in, "generation");
    value = json_get(object, "labels");
    if (difficult_v1_has(value) && !difficult_v1_string_map_read(in, value, &out->labels)) return difficult_v1_in_field(in, "labels");
    value = json_get(object, "name");
    if (!difficult_v1_string_read(in, value, &out->name)) return difficult_v1_in_field(in, "name");
    value = json_get(object, "namespace");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->namespace_)) return difficult_v1_in_field(in, "namespace");
    value = json_get(object, "ownerReferences");
    if (difficult_v1_has(value) && !difficult_v1_object_meta_owner_references_list_read(in, value, &out->owner_references)) return difficult_v1_in_field(in, "ownerReferences");
    value = json_get(object, "resourceVersion");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->resource_version)) return difficult_v1_in_field(in, "resourceVersion");
    value = json_get(object, "uid");
    if (difficult_v1_has(value) && !difficult_v1_string_read(in, value, &out->uid)) return difficult_v1_in_field(in, "uid");
    json *rest = json_copy(in->mem, object);
    json_set(rest, "annotations", NULL);
    json_set(rest, "creationTimestamp", NULL);
    json_set(rest, "deletionTimestamp", NULL);
    json_set(rest, "finalizers", NULL);
    json_set(rest, "generateName", NULL);
    json_set(rest, "generation", NULL);
    json_set(rest, "labels", NULL);
    json_set(rest, "name", NULL);
    json_set(rest, "namespace", NULL);
    json_set(rest, "ownerReferences", NULL);
    json_set(rest, "resourceVersion", NULL);
    json_set(rest, "uid", NULL);
    if (json_count(rest)) out->other = rest;
    return true;
}

static inline const json *difficult_v1_object_meta_to_json(oarlock_mem *mem, const difficult_v1_object_meta *in) {
    json *out = in->other ? json_copy(mem, in->other) : json_new_object(mem);
    if (in->annotations.items) json_set(out, "annotations", difficult_v1_string_map_to_json(mem, &in->annotations));
    if (in->creation_timestamp) json_set(out, "creationTimestamp", json_new_text(mem, in->creation_timestamp));
    if (in->deletion_timestamp) json_set(out, "deletionTimestamp", json_new_text(mem, in->deletion_timestamp));
    if (in->finalizers.items) json_set(out, "finalizers", difficult_v1_string_list_to_json(mem, &in->finalizers));
    if (in->generate_name) json_set(out, "generateName", json_new_text(mem, in->generate_name));
    if (in->generation) json_set(out, "generation", json_new_int(mem, *in->generation));
    if (in->labels.items) json_set(out, "labels", difficult_v1_string_map_to_json(mem, &in->labels));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->namespace_) json_set(out, "namespace", json_new_text(mem, in->namespace_));
    if (in->owner_references.items) json_set(out, "ownerReferences", difficult_v1_object_meta_owner_references_list_to_json(mem, &in->owner_references));
    if (in->resource_version) json_set(out, "resourceVersion", json_new_text(mem, in->resource_version));
    if (in->uid) json_set(out, "uid", json_new_text(mem, in->uid));
    return out;
}

static inline bool difficult_v1_object_meta_owner_references_read(difficult_v1_reader *in, const json *value, difficult_v1_object_meta_owner_references *out) {
    if (!difficult_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (!difficult_v1_string_read(in, value, &out->api_version)) return difficult_v1_in_field(in, "apiVersion");
    value = json_get(object, "blockOwnerDeletion");
    if (difficult_v1_has(value) && !(out->block_owner_deletion = oarlock_alloc(in->mem, sizeof *out->block_owner_deletion), difficult_v1_bool_read(in, value, out->block_owner_deletion))) return difficult_v1_in_field(in, "blockOwnerDeletion");
    value = json_get(object, "controller");
    if (difficult_v1_has(value) && !(out->controller = oarlock_alloc(in->mem, sizeof *out->controller), difficult_v1_bool_read(in, value, out->controller))) return difficult_v1_in_field(in, "controller");
    value = json_get(object, "kind");
    if (!difficult_v1_string_read(in, value, &out->kind)) return difficult_v1_in_field(in, "kind");
    value = json_get(object, "name");
    if (!difficult_v1_string_read(in, value, &out->name)) return difficult_v1_in_field(in, "name");
    value = json_get(object, "uid");
    if (!difficult_v1_string_read(in, value, &out->uid)) return difficult_v1_in_field(in, "uid");
    return true;
}

static inline const json *difficult_v1_object_meta_owner_references_to_json(oarlock_mem *mem, const difficult_v1_object_meta_owner_references *in) {
    json *out = json_new_object(mem);
    json_set(out, "apiVersion", json_new_text(mem, in->api_version));
    if (in->block_owner_deletion) json_set(out, "blockOwnerDeletion", json_new_bool(mem, *in->block_owner_deletion));
    if (in->controller) json_set(out, "controller", json_new_bool(mem, *in->controller));
    json_set(out, "kind", json_new_text(mem, in->kind));
    json_set(out, "name", json_new_text(mem, in->name));
    json_set(out, "uid", json_new_text(mem, in->uid));
    return out;
}

/* Reads an object. NULL when it does not fit the schema; then `*problem` (which may be NULL) says why and where.
 * Strings and values are those of `object`, which must live as long; the rest is in `mem`. */
static inline difficult_v1 *difficult_v1_parse(oarlock_mem *mem, const json *object, const char **problem) {
    difficult_v1_reader in = {mem, NULL};
    difficult_v1 *out = oarlock_alloc(mem, sizeof *out);
    if (difficult_v1_read(&in, object, out)) return out;
    if (problem) *problem = in.problem + strspn(in.problem, ".: ");
    return NULL;
}

/* The object as JSON. It is in `mem`, with copies of the strings; values of `in` become part of it. */
static inline const json *difficult_v1_write(oarlock_mem *mem, const difficult_v1 *in) {
    return difficult_v1_to_json(mem, in);
}

#endif
