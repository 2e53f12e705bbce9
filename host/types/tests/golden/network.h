/* Types of samplecrd.k8s.io/v1 Network. Made by `oarlock types`; changes are lost.
 *
 * A pointer that is NULL, and an enum that is 0, is absent. A field with NAME_is_null may also be null.
 * network_v1_parse reads an object, and network_v1_write makes one. */
#ifndef NETWORK_V1_H
#define NETWORK_V1_H

#include <oarlock/json.h>
#include <string.h>

#define NETWORK_V1_API_VERSION "samplecrd.k8s.io/v1"
#define NETWORK_V1_KIND "Network"

typedef struct network_v1 network_v1;
typedef struct network_v1_spec network_v1_spec;
typedef struct network_v1_status network_v1_status;
typedef struct network_v1_status_conditions network_v1_status_conditions;
typedef struct network_v1_status_subnets network_v1_status_subnets;
typedef struct network_v1_object_meta network_v1_object_meta;
typedef struct network_v1_object_meta_owner_references network_v1_object_meta_owner_references;
typedef struct network_v1_status_conditions_list network_v1_status_conditions_list;
typedef struct network_v1_status_subnets_list network_v1_status_subnets_list;
typedef struct network_v1_string_map network_v1_string_map;
typedef struct network_v1_string_map_entry network_v1_string_map_entry;
typedef struct network_v1_string_list network_v1_string_list;
typedef struct network_v1_object_meta_owner_references_list network_v1_object_meta_owner_references_list;

/* Status of the condition. */
typedef enum {
    NETWORK_V1_STATUS_CONDITIONS_STATUS_ABSENT = 0,
    NETWORK_V1_STATUS_CONDITIONS_STATUS_TRUE, /* "True" */
    NETWORK_V1_STATUS_CONDITIONS_STATUS_FALSE, /* "False" */
    NETWORK_V1_STATUS_CONDITIONS_STATUS_UNKNOWN, /* "Unknown" */
} network_v1_status_conditions_status;

/* `items` of NULL: absent. */
struct network_v1_status_conditions_list {
    network_v1_status_conditions *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct network_v1_status_subnets_list {
    network_v1_status_subnets *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct network_v1_string_map {
    network_v1_string_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct network_v1_string_list {
    const char **items;
    size_t count;
};

/* `items` of NULL: absent. */
struct network_v1_object_meta_owner_references_list {
    network_v1_object_meta_owner_references *items;
    size_t count;
};

/* Network is a network with one IPv4 subnet in OpenStack Neutron. */
struct network_v1 {
    const char *api_version;
    const char *kind;
    network_v1_object_meta *metadata;
    /* The desired network. */
    network_v1_spec *spec;
    /* The observed state in Neutron. The plugin writes it. */
    network_v1_status *status;
};

/* The desired network. */
struct network_v1_spec {
    /*
     * IPv4 range of the subnet: its first address and a prefix length of at most 30, such as
     * 192.168.0.0/16. This field is immutable.
     */
    const char *cidr;
    /*
     * IPv4 address of the gateway: an address in cidr, but neither the first (the network address) nor the
     * last (the broadcast address).
     */
    const char *gateway;
};

/* The observed state in Neutron. The plugin writes it. */
struct network_v1_status {
    /* Range of the first subnet in Neutron. */
    const char *cidr;
    /* Conditions of the Network. Ready is True when the network and its subnet match the spec. */
    network_v1_status_conditions_list conditions;
    /* Gateway of the first subnet in Neutron. */
    const char *gateway;
    /* Id of the network in Neutron. */
    const char *network_id;
    /* Generation of the spec that the plugin observed last. */
    int64_t *observed_generation;
    /* Id of the OpenStack project of the network, if known. */
    const char *project_id;
    /* Id of the first subnet in Neutron. */
    const char *subnet_id;
    /* The subnets in Neutron. */
    network_v1_status_subnets_list subnets;
};

struct network_v1_status_conditions {
    /* Time of the last change of status. */
    const char *last_transition_time;
    /* Details of the last change, for people. */
    const char *message;
    /* Generation of the spec for which the condition was set. */
    int64_t *observed_generation;
    /* Reason of the last change, one word in CamelCase, for programs. */
    const char *reason;
    /* Status of the condition. */
    network_v1_status_conditions_status status;
    /* Type of the condition, such as Ready. */
    const char *type;
};

struct network_v1_status_subnets {
    /* Range of the subnet in Neutron. */
    const char *cidr;
    /* Gateway of the subnet in Neutron. */
    const char *gateway;
    /* Name of the subnet in the spec of v2; default where a v1 client created it. */
    const char *name;
    /* Id of the subnet in Neutron. */
    const char *subnet_id;
};

/* The metadata of an object. */
struct network_v1_object_meta {
    network_v1_string_map annotations;
    const char *creation_timestamp;
    const char *deletion_timestamp;
    network_v1_string_list finalizers;
    const char *generate_name;
    int64_t *generation;
    network_v1_string_map labels;
    const char *name;
    const char *namespace_;
    network_v1_object_meta_owner_references_list owner_references;
    const char *resource_version;
    const char *uid;
    /* An object with the fields outside the schema, or NULL. */
    const json *other;
};

/* An owner of the object. */
struct network_v1_object_meta_owner_references {
    const char *api_version;
    bool *block_owner_deletion;
    bool *controller;
    const char *kind;
    const char *name;
    const char *uid;
};

struct network_v1_string_map_entry {
    const char *key;
    const char *value;
};

/* ---- Reading ---- */

typedef struct {
    oarlock_mem *mem;
    /* What is wrong, and where. */
    const char *problem;
} network_v1_reader;

static inline bool network_v1_wrong(network_v1_reader *in, const char *expected) {
    in->problem = oarlock_text(in->mem, ": not %s", expected);
    return false;
}

/* The problem is in this field. */
static inline bool network_v1_in_field(network_v1_reader *in, const char *name) {
    in->problem = oarlock_text(in->mem, ".%s%s", name, in->problem);
    return false;
}

static inline bool network_v1_in_list(network_v1_reader *in, size_t place) {
    in->problem = oarlock_text(in->mem, "[%zu]%s", place, in->problem);
    return false;
}

static inline bool network_v1_is(network_v1_reader *in, const json *value, json_type type, const char *expected) {
    return json_type_of(value) == type || network_v1_wrong(in, expected);
}

static inline bool network_v1_is_null(const json *value) {
    return json_type_of(value) == JSON_NULL;
}

static inline bool network_v1_has(const json *value) {
    return json_type_of(value) != JSON_ABSENT && json_type_of(value) != JSON_NULL;
}

static inline bool network_v1_string_read(network_v1_reader *in, const json *value, const char **out) {
    *out = json_text(value);
    if (!*out) return network_v1_wrong(in, "a string");
    return strlen(*out) == json_text_len(value) || network_v1_wrong(in, "a string without U+0000");
}

static inline bool network_v1_bool_read(network_v1_reader *in, const json *value, bool *out) {
    *out = json_true(value);
    return network_v1_is(in, value, JSON_BOOL, "true or false");
}

static inline bool network_v1_int64_read(network_v1_reader *in, const json *value, int64_t *out) {
    return json_int(value, out) || network_v1_wrong(in, "an integer of 64 bits");
}

static inline bool network_v1_int32_read(network_v1_reader *in, const json *value, int32_t *out) {
    int64_t number;
    if (!json_int(value, &number) || number < INT32_MIN || number > INT32_MAX) return network_v1_wrong(in, "an integer of 32 bits");
    *out = (int32_t)number;
    return true;
}

static inline bool network_v1_double_read(network_v1_reader *in, const json *value, double *out) {
    return json_double(value, out) || network_v1_wrong(in, "a number");
}

static inline bool network_v1_read(network_v1_reader *in, const json *value, network_v1 *out);
static inline const json *network_v1_to_json(oarlock_mem *mem, const network_v1 *in);
static inline bool network_v1_spec_read(network_v1_reader *in, const json *value, network_v1_spec *out);
static inline const json *network_v1_spec_to_json(oarlock_mem *mem, const network_v1_spec *in);
static inline bool network_v1_status_read(network_v1_reader *in, const json *value, network_v1_status *out);
static inline const json *network_v1_status_to_json(oarlock_mem *mem, const network_v1_status *in);
static inline bool network_v1_status_conditions_read(network_v1_reader *in, const json *value, network_v1_status_conditions *out);
static inline const json *network_v1_status_conditions_to_json(oarlock_mem *mem, const network_v1_status_conditions *in);
static inline bool network_v1_status_subnets_read(network_v1_reader *in, const json *value, network_v1_status_subnets *out);
static inline const json *network_v1_status_subnets_to_json(oarlock_mem *mem, const network_v1_status_subnets *in);
static inline bool network_v1_object_meta_read(network_v1_reader *in, const json *value, network_v1_object_meta *out);
static inline const json *network_v1_object_meta_to_json(oarlock_mem *mem, const network_v1_object_meta *in);
static inline bool network_v1_object_meta_owner_references_read(network_v1_reader *in, const json *value, network_v1_object_meta_owner_references *out);
static inline const json *network_v1_object_meta_owner_references_to_json(oarlock_mem *mem, const network_v1_object_meta_owner_references *in);
static inline bool network_v1_status_conditions_list_read(network_v1_reader *in, const json *value, network_v1_status_conditions_list *out);
static inline const json *network_v1_status_conditions_list_to_json(oarlock_mem *mem, const network_v1_status_conditions_list *in);
static inline bool network_v1_status_subnets_list_read(network_v1_reader *in, const json *value, network_v1_status_subnets_list *out);
static inline const json *network_v1_status_subnets_list_to_json(oarlock_mem *mem, const network_v1_status_subnets_list *in);
static inline bool network_v1_string_map_read(network_v1_reader *in, const json *value, network_v1_string_map *out);
static inline const json *network_v1_string_map_to_json(oarlock_mem *mem, const network_v1_string_map *in);
static inline bool network_v1_string_list_read(network_v1_reader *in, const json *value, network_v1_string_list *out);
static inline const json *network_v1_string_list_to_json(oarlock_mem *mem, const network_v1_string_list *in);
static inline bool network_v1_object_meta_owner_references_list_read(network_v1_reader *in, const json *value, network_v1_object_meta_owner_references_list *out);
static inline const json *network_v1_object_meta_owner_references_list_to_json(oarlock_mem *mem, const network_v1_object_meta_owner_references_list *in);

/* The text of a value; NULL of 0. */
static inline const char *network_v1_status_conditions_status_text(network_v1_status_conditions_status value) {
    static const char *const texts[] = {NULL, "True", "False", "Unknown"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool network_v1_status_conditions_status_read(network_v1_reader *in, const json *value, network_v1_status_conditions_status *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (network_v1_status_conditions_status)i;
        if (json_is(value, network_v1_status_conditions_status_text(*out))) return true;
    }
    return network_v1_wrong(in, "a value that the schema has");
}

static inline bool network_v1_status_conditions_list_read(network_v1_reader *in, const json *value, network_v1_status_conditions_list *out) {
    if (!network_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!network_v1_status_conditions_read(in, value, &out->items[i])) return network_v1_in_list(in, i);
    }
    return true;
}

static inline const json *network_v1_status_conditions_list_to_json(oarlock_mem *mem, const network_v1_status_conditions_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = network_v1_status_conditions_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool network_v1_status_subnets_list_read(network_v1_reader *in, const json *value, network_v1_status_subnets_list *out) {
    if (!network_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!network_v1_status_subnets_read(in, value, &out->items[i])) return network_v1_in_list(in, i);
    }
    return true;
}

static inline const json *network_v1_status_subnets_list_to_json(oarlock_mem *mem, const network_v1_status_subnets_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = network_v1_status_subnets_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool network_v1_string_map_read(network_v1_reader *in, const json *value, network_v1_string_map *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (!network_v1_string_read(in, value, &out->items[i].value)) return network_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *network_v1_string_map_to_json(oarlock_mem *mem, const network_v1_string_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, in->items[i].value);
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool network_v1_string_list_read(network_v1_reader *in, const json *value, network_v1_string_list *out) {
    if (!network_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!network_v1_string_read(in, value, &out->items[i])) return network_v1_in_list(in, i);
    }
    return true;
}

static inline const json *network_v1_string_list_to_json(oarlock_mem *mem, const network_v1_string_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool network_v1_object_meta_owner_references_list_read(network_v1_reader *in, const json *value, network_v1_object_meta_owner_references_list *out) {
    if (!network_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!network_v1_object_meta_owner_references_read(in, value, &out->items[i])) return network_v1_in_list(in, i);
    }
    return true;
}

static inline const json *network_v1_object_meta_owner_references_list_to_json(oarlock_mem *mem, const network_v1_object_meta_owner_references_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = network_v1_object_meta_owner_references_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool network_v1_read(network_v1_reader *in, const json *value, network_v1 *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (!network_v1_string_read(in, value, &out->api_version)) return network_v1_in_field(in, "apiVersion");
    value = json_get(object, "kind");
    if (!network_v1_string_read(in, value, &out->kind)) return network_v1_in_field(in, "kind");
    value = json_get(object, "metadata");
    if (!(out->metadata = oarlock_alloc(in->mem, sizeof *out->metadata), network_v1_object_meta_read(in, value, out->metadata))) return network_v1_in_field(in, "metadata");
    value = json_get(object, "spec");
    if (!(out->spec = oarlock_alloc(in->mem, sizeof *out->spec), network_v1_spec_read(in, value, out->spec))) return network_v1_in_field(in, "spec");
    value = json_get(object, "status");
    if (network_v1_has(value) && !(out->status = oarlock_alloc(in->mem, sizeof *out->status), network_v1_status_read(in, value, out->status))) return network_v1_in_field(in, "status");
    return true;
}

static inline const json *network_v1_to_json(oarlock_mem *mem, const network_v1 *in) {
    json *out = json_new_object(mem);
    json_set(out, "apiVersion", json_new_text(mem, in->api_version ? in->api_version : "samplecrd.k8s.io/v1"));
    json_set(out, "kind", json_new_text(mem, in->kind ? in->kind : "Network"));
    json_set(out, "metadata", in->metadata ? network_v1_object_meta_to_json(mem, in->metadata) : json_new_null(mem));
    json_set(out, "spec", in->spec ? network_v1_spec_to_json(mem, in->spec) : json_new_null(mem));
    if (in->status) json_set(out, "status", network_v1_status_to_json(mem, in->status));
    return out;
}

static inline bool network_v1_spec_read(network_v1_reader *in, const json *value, network_v1_spec *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "cidr");
    if (!network_v1_string_read(in, value, &out->cidr)) return network_v1_in_field(in, "cidr");
    value = json_get(object, "gateway");
    if (!network_v1_string_read(in, value, &out->gateway)) return network_v1_in_field(in, "gateway");
    return true;
}

static inline const json *network_v1_spec_to_json(oarlock_mem *mem, const network_v1_spec *in) {
    json *out = json_new_object(mem);
    json_set(out, "cidr", json_new_text(mem, in->cidr));
    json_set(out, "gateway", json_new_text(mem, in->gateway));
    return out;
}

static inline bool network_v1_status_read(network_v1_reader *in, const json *value, network_v1_status *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "cidr");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->cidr)) return network_v1_in_field(in, "cidr");
    value = json_get(object, "conditions");
    if (network_v1_has(value) && !network_v1_status_conditions_list_read(in, value, &out->conditions)) return network_v1_in_field(in, "conditions");
    value = json_get(object, "gateway");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->gateway)) return network_v1_in_field(in, "gateway");
    value = json_get(object, "networkId");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->network_id)) return network_v1_in_field(in, "networkId");
    value = json_get(object, "observedGeneration");
    if (network_v1_has(value) && !(out->observed_generation = oarlock_alloc(in->mem, sizeof *out->observed_generation), network_v1_int64_read(in, value, out->observed_generation))) return network_v1_in_field(in, "observedGeneration");
    value = json_get(object, "projectId");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->project_id)) return network_v1_in_field(in, "projectId");
    value = json_get(object, "subnetId");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->subnet_id)) return network_v1_in_field(in, "subnetId");
    value = json_get(object, "subnets");
    if (network_v1_has(value) && !network_v1_status_subnets_list_read(in, value, &out->subnets)) return network_v1_in_field(in, "subnets");
    return true;
}

static inline const json *network_v1_status_to_json(oarlock_mem *mem, const network_v1_status *in) {
    json *out = json_new_object(mem);
    if (in->cidr) json_set(out, "cidr", json_new_text(mem, in->cidr));
    if (in->conditions.items) json_set(out, "conditions", network_v1_status_conditions_list_to_json(mem, &in->conditions));
    if (in->gateway) json_set(out, "gateway", json_new_text(mem, in->gateway));
    if (in->network_id) json_set(out, "networkId", json_new_text(mem, in->network_id));
    if (in->observed_generation) json_set(out, "observedGeneration", json_new_int(mem, *in->observed_generation));
    if (in->project_id) json_set(out, "projectId", json_new_text(mem, in->project_id));
    if (in->subnet_id) json_set(out, "subnetId", json_new_text(mem, in->subnet_id));
    if (in->subnets.items) json_set(out, "subnets", network_v1_status_subnets_list_to_json(mem, &in->subnets));
    return out;
}

static inline bool network_v1_status_conditions_read(network_v1_reader *in, const json *value, network_v1_status_conditions *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "lastTransitionTime");
    if (!network_v1_string_read(in, value, &out->last_transition_time)) return network_v1_in_field(in, "lastTransitionTime");
    value = json_get(object, "message");
    if (!network_v1_string_read(in, value, &out->message)) return network_v1_in_field(in, "message");
    value = json_get(object, "observedGeneration");
    if (network_v1_has(value) && !(out->observed_generation = oarlock_alloc(in->mem, sizeof *out->observed_generation), network_v1_int64_read(in, value, out->observed_generation))) return network_v1_in_field(in, "observedGeneration");
    value = json_get(object, "reason");
    if (!network_v1_string_read(in, value, &out->reason)) return network_v1_in_field(in, "reason");
    value = json_get(object, "status");
    if (!network_v1_status_conditions_status_read(in, value, &out->status)) return network_v1_in_field(in, "status");
    value = json_get(object, "type");
    if (!network_v1_string_read(in, value, &out->type)) return network_v1_in_field(in, "type");
    return true;
}

static inline const json *network_v1_status_conditions_to_json(oarlock_mem *mem, const network_v1_status_conditions *in) {
    json *out = json_new_object(mem);
    json_set(out, "lastTransitionTime", json_new_text(mem, in->last_transition_time));
    json_set(out, "message", json_new_text(mem, in->message));
    if (in->observed_generation) json_set(out, "observedGeneration", json_new_int(mem, *in->observed_generation));
    json_set(out, "reason", json_new_text(mem, in->reason));
    json_set(out, "status", json_new_text(mem, network_v1_status_conditions_status_text(in->status)));
    json_set(out, "type", json_new_text(mem, in->type));
    return out;
}

static inline bool network_v1_status_subnets_read(network_v1_reader *in, const json *value, network_v1_status_subnets *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "cidr");
    if (!network_v1_string_read(in, value, &out->cidr)) return network_v1_in_field(in, "cidr");
    value = json_get(object, "gateway");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->gateway)) return network_v1_in_field(in, "gateway");
    value = json_get(object, "name");
    if (!network_v1_string_read(in, value, &out->name)) return network_v1_in_field(in, "name");
    value = json_get(object, "subnetId");
    if (!network_v1_string_read(in, value, &out->subnet_id)) return network_v1_in_field(in, "subnetId");
    return true;
}

static inline const json *network_v1_status_subnets_to_json(oarlock_mem *mem, const network_v1_status_subnets *in) {
    json *out = json_new_object(mem);
    json_set(out, "cidr", json_new_text(mem, in->cidr));
    if (in->gateway) json_set(out, "gateway", json_new_text(mem, in->gateway));
    json_set(out, "name", json_new_text(mem, in->name));
    json_set(out, "subnetId", json_new_text(mem, in->subnet_id));
    return out;
}

static inline bool network_v1_object_meta_read(network_v1_reader *in, const json *value, network_v1_object_meta *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "annotations");
    if (network_v1_has(value) && !network_v1_string_map_read(in, value, &out->annotations)) return network_v1_in_field(in, "annotations");
    value = json_get(object, "creationTimestamp");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->creation_timestamp)) return network_v1_in_field(in, "creationTimestamp");
    value = json_get(object, "deletionTimestamp");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->deletion_timestamp)) return network_v1_in_field(in, "deletionTimestamp");
    value = json_get(object, "finalizers");
    if (network_v1_has(value) && !network_v1_string_list_read(in, value, &out->finalizers)) return network_v1_in_field(in, "finalizers");
    value = json_get(object, "generateName");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->generate_name)) return network_v1_in_field(in, "generateName");
    value = json_get(object, "generation");
    if (network_v1_has(value) && !(out->generation = oarlock_alloc(in->mem, sizeof *out->generation), network_v1_int64_read(in, value, out->generation))) return network_v1_in_field(in, "generation");
    value = json_get(object, "labels");
    if (network_v1_has(value) && !network_v1_string_map_read(in, value, &out->labels)) return network_v1_in_field(in, "labels");
    value = json_get(object, "name");
    if (!network_v1_string_read(in, value, &out->name)) return network_v1_in_field(in, "name");
    value = json_get(object, "namespace");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->namespace_)) return network_v1_in_field(in, "namespace");
    value = json_get(object, "ownerReferences");
    if (network_v1_has(value) && !network_v1_object_meta_owner_references_list_read(in, value, &out->owner_references)) return network_v1_in_field(in, "ownerReferences");
    value = json_get(object, "resourceVersion");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->resource_version)) return network_v1_in_field(in, "resourceVersion");
    value = json_get(object, "uid");
    if (network_v1_has(value) && !network_v1_string_read(in, value, &out->uid)) return network_v1_in_field(in, "uid");
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

static inline const json *network_v1_object_meta_to_json(oarlock_mem *mem, const network_v1_object_meta *in) {
    json *out = in->other ? json_copy(mem, in->other) : json_new_object(mem);
    if (in->annotations.items) json_set(out, "annotations", network_v1_string_map_to_json(mem, &in->annotations));
    if (in->creation_timestamp) json_set(out, "creationTimestamp", json_new_text(mem, in->creation_timestamp));
    if (in->deletion_timestamp) json_set(out, "deletionTimestamp", json_new_text(mem, in->deletion_timestamp));
    if (in->finalizers.items) json_set(out, "finalizers", network_v1_string_list_to_json(mem, &in->finalizers));
    if (in->generate_name) json_set(out, "generateName", json_new_text(mem, in->generate_name));
    if (in->generation) json_set(out, "generation", json_new_int(mem, *in->generation));
    if (in->labels.items) json_set(out, "labels", network_v1_string_map_to_json(mem, &in->labels));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->namespace_) json_set(out, "namespace", json_new_text(mem, in->namespace_));
    if (in->owner_references.items) json_set(out, "ownerReferences", network_v1_object_meta_owner_references_list_to_json(mem, &in->owner_references));
    if (in->resource_version) json_set(out, "resourceVersion", json_new_text(mem, in->resource_version));
    if (in->uid) json_set(out, "uid", json_new_text(mem, in->uid));
    return out;
}

static inline bool network_v1_object_meta_owner_references_read(network_v1_reader *in, const json *value, network_v1_object_meta_owner_references *out) {
    if (!network_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (!network_v1_string_read(in, value, &out->api_version)) return network_v1_in_field(in, "apiVersion");
    value = json_get(object, "blockOwnerDeletion");
    if (network_v1_has(value) && !(out->block_owner_deletion = oarlock_alloc(in->mem, sizeof *out->block_owner_deletion), network_v1_bool_read(in, value, out->block_owner_deletion))) return network_v1_in_field(in, "blockOwnerDeletion");
    value = json_get(object, "controller");
    if (network_v1_has(value) && !(out->controller = oarlock_alloc(in->mem, sizeof *out->controller), network_v1_bool_read(in, value, out->controller))) return network_v1_in_field(in, "controller");
    value = json_get(object, "kind");
    if (!network_v1_string_read(in, value, &out->kind)) return network_v1_in_field(in, "kind");
    value = json_get(object, "name");
    if (!network_v1_string_read(in, value, &out->name)) return network_v1_in_field(in, "name");
    value = json_get(object, "uid");
    if (!network_v1_string_read(in, value, &out->uid)) return network_v1_in_field(in, "uid");
    return true;
}

static inline const json *network_v1_object_meta_owner_references_to_json(oarlock_mem *mem, const network_v1_object_meta_owner_references *in) {
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
static inline network_v1 *network_v1_parse(oarlock_mem *mem, const json *object, const char **problem) {
    network_v1_reader in = {mem, NULL};
    network_v1 *out = oarlock_alloc(mem, sizeof *out);
    if (network_v1_read(&in, object, out)) return out;
    if (problem) *problem = in.problem + strspn(in.problem, ".: ");
    return NULL;
}

/* The object as JSON. It is in `mem`, with copies of the strings; values of `in` become part of it. */
static inline const json *network_v1_write(oarlock_mem *mem, const network_v1 *in) {
    return network_v1_to_json(mem, in);
}

#endif
