/* A guest that uses the imports. It keeps a network in Neutron whose description names the ServiceAccounts of a namespace. For tests of the
 * SDK inside a component. */
#include <oarlock.h>
#include <string.h>

static const oarlock_kind POD = {"v1", "Pod"};

static const oarlock_manifest manifest = {
    .name = "imports-c",
    .version = "0.1.0",
    .primaries = OARLOCK_LIST(oarlock_primary, {.kind = {"v1", "ConfigMap"}}),
    .watches = OARLOCK_LIST(oarlock_watch, {.kind = {"v1", "ServiceAccount"}, .map_to = OARLOCK_ALL}),
    .permissions = OARLOCK_LIST(oarlock_permission,
        {.resources = OARLOCK_STRINGS("configmaps"), .verbs = OARLOCK_STRINGS("get", "list", "watch", "patch")},
        {.resources = OARLOCK_STRINGS("serviceaccounts"), .verbs = OARLOCK_STRINGS("get", "list", "watch")}),
    .http_origins_from_config = OARLOCK_STRINGS("url"),
    .config = OARLOCK_LIST(oarlock_config_key, {.key = "url", .schema = "{'type': 'string'}", .required = true}),
};

static oarlock_error *networks(oarlock_context *cx, const char *path, const char *id, const char **url) {
    const char *base = NULL;
    OARLOCK_TRY(oarlock_config_required(cx, "url", &base));
    *url = oarlock_text(cx->mem, "%s/networks%s%s", base, path, oarlock_url_encode(cx, id));
    return NULL;
}

static oarlock_error *network_of(oarlock_context *cx, const oarlock_http_request *request, const json **network) {
    oarlock_http_response response;
    const json *answer = NULL;
    OARLOCK_TRY(oarlock_http_send(cx, request, &response));
    OARLOCK_TRY(oarlock_http_check(cx, &response));
    OARLOCK_TRY(oarlock_http_json(cx, &response, &answer));
    *network = json_get(answer, "network");
    return NULL;
}

static oarlock_error *desired(oarlock_context *cx, const json **state) {
    if (!json_is(json_path(cx->object, "data", "network"), "wanted")) return NULL;
    const json *accounts = NULL, *network = NULL;
    oarlock_list_options options = {.ns = cx->ns, .label_selector = "part=true"};
    OARLOCK_TRY(oarlock_list_objects(cx, (oarlock_kind){"v1", "ServiceAccount"}, options, &accounts));
    const char *names = "";
    for (size_t i = 0; i < json_count(accounts); i++)
        names = oarlock_text(cx->mem, "%s%s%s", names, i ? "," : "", json_text(json_path(json_at(accounts, i), "metadata", "name")));
    const char *id = oarlock_cache_get(cx, cx->uid).bytes;
    if (!id) {
        oarlock_http_request request = {.method = "POST"};
        request.json_body = json_make(cx->mem, "{'network': {'name': %s}}", oarlock_text(cx->mem, "imports-%s", cx->uid));
        OARLOCK_TRY(networks(cx, "", "", &request.url));
        OARLOCK_TRY(network_of(cx, &request, &network));
        id = json_text(json_get(network, "id"));
        oarlock_cache_set(cx, cx->uid, (oarlock_bytes){id, strlen(id)}, 60000);
    }
    *state = json_make(cx->mem, "{'id': %s, 'description': %s}", id, names);
    return NULL;
}

static oarlock_error *actual(oarlock_context *cx, oarlock_observation *out) {
    const char *id = oarlock_cache_get(cx, cx->uid).bytes;
    if (!id) return NULL;
    oarlock_http_request request = {0};
    const json *network = NULL;
    OARLOCK_TRY(networks(cx, "/", id, &request.url));
    OARLOCK_TRY(network_of(cx, &request, &network));
    out->state = json_make(cx->mem, "{'id': %s, 'description': %j}", id, json_get(network, "description"));
    return NULL;
}

/* A Pod that somebody else put a container into, with what changed from one version of ours to the next. */
static oarlock_error *merged(oarlock_context *cx, const json **pod) {
    const json *before = json_make(cx->mem,
        "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}, 'spec': {'containers': [{'name': 'one', 'image': 'one:1'}]}}");
    const json *after = json_make(cx->mem,
        "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}, 'spec': {'containers': ["
        "{'name': 'one', 'image': 'one:2'}, {'name': 'two', 'image': 'two:1'}]}}");
    const json *current = json_make(cx->mem,
        "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}, 'spec': {'containers': ["
        "{'name': 'theirs', 'image': 'theirs:1'}, {'name': 'one', 'image': 'one:1'}]}}");
    const json *patch = NULL, *two = NULL;
    OARLOCK_TRY(oarlock_merge_two_way(cx, POD, before, after, &patch));
    OARLOCK_TRY(oarlock_merge_apply(cx, POD, before, patch, &two));
    OARLOCK_TRY(oarlock_merge_three_way(cx, POD, before, two, current, &patch));
    return oarlock_merge_apply(cx, POD, current, patch, pod);
}

static const char *remembered(oarlock_context *cx) {
    static const char text[] = "ümlaut";
    oarlock_cache_set(cx, "text", (oarlock_bytes){text, strlen(text)}, 0);
    const char *before = oarlock_cache_get(cx, "text").bytes;
    oarlock_cache_set(cx, "text", (oarlock_bytes){0}, 0);
    return oarlock_text(cx->mem, "%s %s", before, oarlock_cache_get(cx, "text").bytes ? "left" : "undefined");
}

static oarlock_error *patch(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out) {
    (void)actual;
    oarlock_http_request write = {.method = "PUT", .timeout_ms = 5000};
    oarlock_http_request list = {.headers = OARLOCK_LIST(oarlock_header, {"accept", "application/json"})};
    oarlock_http_response listed;
    const json *network = NULL, *pod = NULL;
    write.json_body = json_make(cx->mem, "{'network': {'description': %j}}", json_get(desired, "description"));
    OARLOCK_TRY(networks(cx, "/", json_text(json_get(desired, "id")), &write.url));
    OARLOCK_TRY(network_of(cx, &write, &network));
    OARLOCK_TRY(networks(cx, "?fields=id", "", &list.url));
    OARLOCK_TRY(oarlock_http_send(cx, &list, &listed));
    OARLOCK_TRY(merged(cx, &pod));
    const json *containers = json_path(pod, "spec", "containers");
    const char *names = "";
    for (size_t i = 0; i < json_count(containers); i++) {
        const json *one = json_at(containers, i);
        names = oarlock_text(cx->mem, "%s%s%s=%s", names, i ? "," : "", json_text(json_get(one, "name")), json_text(json_get(one, "image")));
    }
    oarlock_patch(out, cx->kind, cx->ns, cx->name, OARLOCK_MERGE_PATCH,
                  json_make(cx->mem, "{'metadata': {'annotations': {'example.com/containers': %s}}}", names));
    oarlock_record(out, OARLOCK_NORMAL, "Written", "status %u, %s, cache %s", (unsigned)listed.status,
                   oarlock_http_header(&listed, "Content-Type"), remembered(cx));
    return NULL;
}

const oarlock_reconciler oarlock_plugin = {&manifest, desired, actual, patch};
