/* Gives every Namespace that asks for it a ResourceQuota and a NetworkPolicy that denies what is not allowed. */
#include <oarlock.h>
#include <string.h>

#define QUOTA_ANNOTATION "baseline.oarlock.dev/quota"

static const oarlock_kind QUOTA = {"v1", "ResourceQuota"};
static const oarlock_kind POLICY = {"networking.k8s.io/v1", "NetworkPolicy"};
static const char QUOTA_NAME[] = "baseline";
static const char POLICY_NAME[] = "default-deny";

#define WRITES OARLOCK_STRINGS("get", "list", "watch", "create", "patch", "delete")

static const oarlock_manifest manifest = {
    .name = "namespace-baseline",
    .version = "0.1.0-c",
    .description = "Gives every Namespace that asks for it a ResourceQuota and a NetworkPolicy that denies what is not allowed",
    .primaries = OARLOCK_LIST(oarlock_primary, {.kind = {"v1", "Namespace"}}),
    .watches = OARLOCK_LIST(oarlock_watch,
        {.kind = {"v1", "ResourceQuota"}, .names = OARLOCK_STRINGS("baseline"), .map_to = OARLOCK_OWNER_REFERENCE},
        {.kind = {"networking.k8s.io/v1", "NetworkPolicy"}, .names = OARLOCK_STRINGS("default-deny"), .map_to = OARLOCK_OWNER_REFERENCE}),
    .permissions = OARLOCK_LIST(oarlock_permission,
        {.api_groups = OARLOCK_STRINGS(""), .resources = OARLOCK_STRINGS("resourcequotas"), .verbs = WRITES},
        {.api_groups = OARLOCK_STRINGS("networking.k8s.io"), .resources = OARLOCK_STRINGS("networkpolicies"), .verbs = WRITES}),
    .config = OARLOCK_LIST(oarlock_config_key,
        {.key = "label", .schema = "{'type': 'string', 'default': 'oarlock.dev/baseline', 'description': 'Namespaces whose label of this name is true get the baseline'}"},
        {.key = "quota", .schema = "{'type': 'string', 'description': 'spec.hard of the ResourceQuota: the text of a JSON object, strings to strings'}"},
        {.key = "denyEgress", .schema = "{'type': 'string', 'enum': ['true', 'false'], 'default': 'false', 'description': 'Deny outgoing traffic as well'}"}),
    .resync_seconds = 300,
};

/* The value of a JSON object of strings, or NULL. */
static const json *strings(oarlock_context *cx, const char *text) {
    const json *object = json_parse_text(cx->mem, text, NULL);
    if (json_type_of(object) != JSON_OBJECT) return NULL;
    for (size_t i = 0; i < json_count(object); i++)
        if (json_type_of(json_at(object, i)) != JSON_STRING) return NULL;
    return object;
}

static oarlock_error *quota_of(oarlock_context *cx, const json **quota) {
    const char *own = json_text(json_path(cx->object, "metadata", "annotations", QUOTA_ANNOTATION));
    if (own) {
        *quota = strings(cx, own);
        return *quota ? NULL : oarlock_terminal(cx, "annotation " QUOTA_ANNOTATION " is not a JSON object of strings");
    }
    const char *configured = oarlock_config(cx, "quota");
    *quota = strings(cx, configured ? configured : "{\"pods\":\"50\",\"requests.cpu\":\"10\",\"requests.memory\":\"20Gi\"}");
    return *quota ? NULL : oarlock_terminal(cx, "config quota is not a JSON object of strings");
}

static oarlock_error *desired(oarlock_context *cx, const json **state) {
    const char *label = oarlock_config(cx, "label"), *deny_egress = oarlock_config(cx, "denyEgress");
    const json *quota = NULL, *owner = oarlock_owner_reference(cx);
    if (!json_is(json_path(cx->object, "metadata", "labels", label ? label : "oarlock.dev/baseline"), "true")) return NULL;
    OARLOCK_TRY(quota_of(cx, &quota));
    json *directions = json_make(cx->mem, "['Ingress']");
    if (deny_egress && !strcmp(deny_egress, "true")) json_append(directions, json_new_text(cx->mem, "Egress"));
    *state = json_make(cx->mem,
        "{"
        "  'quota': {"
        "    'apiVersion': 'v1', 'kind': 'ResourceQuota',"
        "    'metadata': {'name': %s, 'namespace': %s, 'ownerReferences': [%j]},"
        "    'spec': {'hard': %j}"
        "  },"
        "  'networkPolicy': {"
        "    'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy',"
        "    'metadata': {'name': %s, 'namespace': %s, 'ownerReferences': [%j]},"
        "    'spec': {'podSelector': {}, 'policyTypes': %j}"
        "  }"
        "}",
        QUOTA_NAME, cx->name, owner, quota, POLICY_NAME, cx->name, owner, directions);
    return NULL;
}

static oarlock_error *actual(oarlock_context *cx, oarlock_observation *out) {
    const json *quota = NULL, *policy = NULL;
    /* What is in a Namespace goes with it. */
    if (cx->deleting) return NULL;
    OARLOCK_TRY(oarlock_get_applied(cx, QUOTA, cx->name, QUOTA_NAME, &quota));
    OARLOCK_TRY(oarlock_get_applied(cx, POLICY, cx->name, POLICY_NAME, &policy));
    if (!quota && !policy) return NULL;
    json *state = json_new_object(cx->mem);
    json_set(state, "quota", quota);
    json_set(state, "networkPolicy", policy);
    out->state = state;
    return NULL;
}

/* Moves one of the two. Answers whether it was applied. */
static bool move(oarlock_context *cx, const json *wanted, const json *found, oarlock_kind kind, const char *name, oarlock_outcome *out) {
    if (!wanted && found) oarlock_delete(out, kind, cx->name, name);
    if (!wanted || json_equal(wanted, found)) return false;
    oarlock_apply(out, wanted);
    return true;
}

static oarlock_error *patch(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out) {
    bool quota = move(cx, json_get(desired, "quota"), json_get(actual, "quota"), QUOTA, QUOTA_NAME, out);
    bool policy = move(cx, json_get(desired, "networkPolicy"), json_get(actual, "networkPolicy"), POLICY, POLICY_NAME, out);
    if (quota || policy)
        oarlock_record(out, OARLOCK_NORMAL, "BaselineWritten", "quota baseline and network policy default-deny written");
    if (!desired) oarlock_record(out, OARLOCK_NORMAL, "BaselineRemoved", "quota baseline and network policy default-deny removed");
    return NULL;
}

const oarlock_reconciler oarlock_plugin = {&manifest, desired, actual, patch};
