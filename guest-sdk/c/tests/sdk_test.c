/* The SDK and its native tests, by reconcilers that ask what their object says. */
#include <oarlock/testing.h>
#include <string.h>

static const oarlock_kind CONFIG_MAP = {"v1", "ConfigMap"};
static const oarlock_kind THING = {"example.com/v1", "Thing"};

static const oarlock_manifest probe_manifest = {
    .name = "probe",
    .version = "1",
    .description = "Asks",
    .primaries = OARLOCK_LIST(oarlock_primary, {.kind = {"example.com/v1", "Thing"}}),
    .watches = OARLOCK_LIST(oarlock_watch, {.kind = {"v1", "ConfigMap"}, .map_to = OARLOCK_OWNER_REFERENCE}),
    .indexes = OARLOCK_LIST(oarlock_index,
        {"by-user", {"v1", "ConfigMap"}, .json_path = "{.spec.users[*]['id']}"},
        {"by-first", {"v1", "ConfigMap"}, .json_path = ".spec.users[0].id"},
        {"by-a", {"v1", "ConfigMap"}, .label = "example.com/a"}),
    .permissions = OARLOCK_LIST(oarlock_permission, {.resources = OARLOCK_STRINGS("configmaps"), .verbs = OARLOCK_STRINGS("get")}),
    .http_origins = OARLOCK_STRINGS("http://granted.example.com:80"),
    .http_origins_from_config = OARLOCK_STRINGS("url"),
    .http_safe_requests = OARLOCK_LIST(oarlock_safe_request, {"POST", "*/tokens"}),
    .config = OARLOCK_LIST(oarlock_config_key,
        {.key = "url", .schema = "{'type': 'string'}", .required = true},
        {.key = "word"}),
    .cleanup = true,
    .workers = 4,
    .resync_seconds = 60,
};

/* ---- The probe: answers what spec.ask asks as status.answer ---- */

static oarlock_error *probe_desired(oarlock_context *cx, const json **state) {
    *state = json_new_text(cx->mem, "asked");
    return NULL;
}

static oarlock_error *request(oarlock_context *cx, const char *method, const char *url, const json **answer) {
    oarlock_http_response response;
    oarlock_http_request sent = {.method = method, .url = url, .json_body = strcmp(method, "GET") ? json_make(cx->mem, "{'a': 1}") : NULL};
    OARLOCK_TRY(oarlock_http_send(cx, &sent, &response));
    OARLOCK_TRY(oarlock_http_check(cx, &response));
    OARLOCK_TRY(oarlock_http_json(cx, &response, answer));
    oarlock_log_fields(OARLOCK_INFO, "answered", OARLOCK_STRINGS("type", oarlock_http_header(&response, "Content-Type")));
    return NULL;
}

static oarlock_error *ask(oarlock_context *cx, const char *what, const json **answer) {
    if (!strcmp(what, "get")) return oarlock_get_object(cx, CONFIG_MAP, "default", "one", answer);
    if (!strcmp(what, "undeclared")) return oarlock_get_object(cx, (oarlock_kind){"v1", "Secret"}, "default", "one", answer);
    if (!strcmp(what, "live")) return oarlock_get_live(cx, (oarlock_kind){"v1", "Secret"}, "default", "one", answer);
    if (!strncmp(what, "list:", 5))
        return oarlock_list_objects(cx, CONFIG_MAP, (oarlock_list_options){.ns = "default", .label_selector = what + 5}, answer);
    if (!strncmp(what, "by-", 3)) {
        const char *equals = strchr(what, '=');
        const char *index = oarlock_copy(cx->mem, what, (size_t)(equals - what));
        return oarlock_list_indexed(cx, CONFIG_MAP, index, equals + 1, (oarlock_list_options){.ns = "default"}, answer);
    }
    if (!strcmp(what, "owned")) return oarlock_list_objects(cx, CONFIG_MAP, (oarlock_list_options){.owner_uid = cx->uid, .limit = 1}, answer);
    if (!strcmp(what, "merge")) return oarlock_merge_two_way(cx, CONFIG_MAP, cx->object, cx->object, answer);
    if (!strcmp(what, "granted")) return request(cx, "GET", "http://granted.example.com/x", answer);
    if (!strcmp(what, "configured")) return request(cx, "GET", "http://configured.example.com/x?y=1", answer);
    if (!strcmp(what, "foreign")) return request(cx, "GET", "http://granted.example.com:81/x", answer);
    if (!strcmp(what, "relative")) return request(cx, "GET", "/x", answer);
    if (!strcmp(what, "delete")) return request(cx, "DELETE", "http://granted.example.com/x", answer);
    if (!strcmp(what, "token")) return request(cx, "POST", "http://granted.example.com/v3/tokens", answer);
    if (!strcmp(what, "url")) {
        const char *value = NULL;
        OARLOCK_TRY(oarlock_config_required(cx, "url", &value));
        *answer = json_make(cx->mem, "[%s, %s]", value, oarlock_config_keys(cx)[0]);
    } else if (!strcmp(what, "count")) {
        oarlock_bytes before = oarlock_cache_get(cx, "count");
        size_t count = before.bytes ? before.len + 1 : 1;
        oarlock_cache_set(cx, "count", (oarlock_bytes){"xxxxxxxxxx", count}, 60000);
        *answer = json_new_int(cx->mem, (int64_t)count);
    } else if (!strcmp(what, "transient")) {
        return oarlock_transient_after(cx, 5000, "not %s", "yet");
    } else if (!strcmp(what, "whole")) {
        *answer = json_make(cx->mem, "[%s, %s, %s, %s, %s, %b, %b, %d, %j]", cx->kind.api_version, cx->kind.kind, cx->ns, cx->name, cx->uid,
                            cx->gone, cx->deleting, (int)cx->attempt, oarlock_owner_reference(cx));
    } else if (!strcmp(what, "encode")) {
        *answer = json_new_text(cx->mem, oarlock_url_encode(cx, "oarlock:\xC3\xBC &=1%"));
    }
    return NULL;
}

static oarlock_error *probe_actual(oarlock_context *cx, oarlock_observation *out) {
    const json *answer = NULL;
    if (cx->deleting) return NULL;
    OARLOCK_TRY(ask(cx, json_text(json_path(cx->object, "spec", "ask")), &answer));
    out->state = json_new_text(cx->mem, "asked");
    out->status = json_make(cx->mem, "{'answer': %j}", answer);
    return NULL;
}

static oarlock_error *probe_patch(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out) {
    (void)desired, (void)actual, (void)out;
    return oarlock_terminal(cx, "there is nothing to patch");
}

static const oarlock_reconciler probe = {&probe_manifest, probe_desired, probe_actual, probe_patch};

static oarlock_test *asks(const char *what) {
    oarlock_test *t = oarlock_test_new(&probe);
    oarlock_test_object(t, "{'apiVersion': 'example.com/v1', 'kind': 'Thing', 'metadata': {'name': 'a', 'namespace': 'default', 'uid': 'u-1'}, 'spec': {'ask': %s}}", what);
    return t;
}

/* The reconcile answers this. */
static void answers(oarlock_test *t, const char *expected) {
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK_TEXT(report->error ? report->error->message : NULL, NULL);
    OARLOCK_CHECK(report->in_sync && !report->patched);
    OARLOCK_CHECK_JSON(json_path(oarlock_test_current(t), "status", "answer"), expected);
}

/* The reconcile ends with this error. */
static void refuses(oarlock_test *t, oarlock_error_type type, const char *message) {
    const oarlock_report *report = oarlock_test_reconcile(t);
    if (!OARLOCK_CHECK(report->error != NULL)) return;
    OARLOCK_CHECK(report->error->type == type && !report->in_sync);
    OARLOCK_CHECK_TEXT(report->error->message, message);
}

static void once(const char *what, const char *expected) {
    oarlock_test *t = asks(what);
    answers(t, expected);
    oarlock_test_free(t);
}

static void once_refused(const char *what, oarlock_error_type type, const char *message) {
    oarlock_test *t = asks(what);
    refuses(t, type, message);
    oarlock_test_free(t);
}

static const oarlock_manifest admitting_manifest = {
    .name = "gate",
    .version = "2",
    .manage_status = true,
    .watches = OARLOCK_LIST(oarlock_watch, {.kind = {"v1", "Secret"}},
        {.kind = {"v1", "Pod"}, .map_to = OARLOCK_REFERENCED_BY, .map_key = "/spec/pods", .primary = {"v1", "Node"}, .names = OARLOCK_STRINGS("p")}),
    .admission = OARLOCK_LIST(oarlock_admission_rule,
        {.operations = OARLOCK_STRINGS("CREATE"), .api_groups = OARLOCK_STRINGS(""), .api_versions = OARLOCK_STRINGS("v1"),
         .resources = OARLOCK_STRINGS("pods"), .failure_policy = "Ignore", .object_selector = "{'matchLabels': {'a': 'b'}}", .validate = true}),
};

static void a_manifest_is_the_document_it_was_written_as(void) {
    oarlock_mem *mem = oarlock_mem_new();
    OARLOCK_CHECK_JSON(oarlock_manifest_document(mem, &probe_manifest),
        "{'apiVersion': 'oarlock.dev/v1alpha1', 'kind': 'PluginManifest', 'name': 'probe', 'version': '1', 'description': 'Asks',"
        " 'primaries': [{'group': 'example.com', 'version': 'v1', 'kind': 'Thing'}],"
        " 'watches': [{'group': '', 'version': 'v1', 'kind': 'ConfigMap', 'mapTo': {'type': 'ownerReference'}}],"
        " 'indexes': [{'name': 'by-user', 'group': '', 'version': 'v1', 'kind': 'ConfigMap', 'jsonPath': %s},"
        "             {'name': 'by-first', 'group': '', 'version': 'v1', 'kind': 'ConfigMap', 'jsonPath': '.spec.users[0].id'},"
        "             {'name': 'by-a', 'group': '', 'version': 'v1', 'kind': 'ConfigMap', 'label': 'example.com/a'}],"
        " 'permissions': [{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['get']}],"
        " 'http': {'origins': ['http://granted.example.com:80'], 'originsFromConfig': ['url'], 'safeRequests': [{'method': 'POST', 'path': '*/tokens'}]},"
        " 'config': {'type': 'object', 'additionalProperties': false, 'properties': {'url': {'type': 'string'}, 'word': {}}, 'required': ['url']},"
        " 'cleanup': true, 'workers': 4, 'resyncSeconds': 60}", "{.spec.users[*]['id']}");
    OARLOCK_CHECK_JSON(oarlock_manifest_document(mem, &admitting_manifest),
        "{'apiVersion': 'oarlock.dev/v1alpha1', 'kind': 'PluginManifest', 'name': 'gate', 'version': '2', 'primaries': [], 'manageStatus': true,"
        " 'watches': [{'group': '', 'version': 'v1', 'kind': 'Secret'},"
        "             {'group': '', 'version': 'v1', 'kind': 'Pod', 'names': ['p'], 'mapTo': {'type': 'referencedBy', 'pointer': '/spec/pods'},"
        "              'primary': {'group': '', 'version': 'v1', 'kind': 'Node'}}],"
        " 'admission': [{'operations': ['CREATE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['pods'], 'failurePolicy': 'Ignore',"
        "                'objectSelector': {'matchLabels': {'a': 'b'}}, 'validate': true}]}");
    oarlock_mem_free(mem);
}

static void the_context_says_what_it_is_about(void) {
    once("whole", "['example.com/v1', 'Thing', 'default', 'a', 'u-1', false, false, 1,"
                  " {'apiVersion': 'example.com/v1', 'kind': 'Thing', 'name': 'a', 'uid': 'u-1', 'controller': true}]");
}

static void reads_reach_what_the_manifest_names(void) {
    once("get", "null");
    once("live", "null");
    once_refused("undeclared", OARLOCK_TERMINAL, "the manifest names v1 Secret neither as a primary nor as a watch");
    once_refused("merge", OARLOCK_TERMINAL, "a native test does no strategic merge: test it with `oarlock test`");
    oarlock_test *t = asks("get");
    oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'one', 'namespace': 'default', 'uid': 'x'}, 'data': {'a': %s}}", "b");
    answers(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'one', 'namespace': 'default', 'uid': 'x', 'resourceVersion': '2'}, 'data': {'a': 'b'}}");
    oarlock_test_remove(t, CONFIG_MAP, "default", "one");
    answers(t, "null");
    oarlock_test_free(t);
}

static void lists_go_by_labels_and_owners(void) {
    static const struct { const char *selector; size_t count; } cases[] = {
        {"", 3}, {"a=1", 1}, {"a==1, b = x", 1}, {"a!=1", 2}, {"a", 2}, {"!a", 1}, {"a=1,b=y", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oarlock_mem *mem = oarlock_mem_new();
        oarlock_test *t = asks(oarlock_text(mem, "list:%s", cases[i].selector));
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'two', 'namespace': 'default', 'labels': {'a': '2', 'b': 'y'}}}");
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'one', 'namespace': 'default', 'labels': {'a': '1', 'b': 'x'}}}");
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'zero', 'namespace': 'default'}}");
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'one', 'namespace': 'other', 'labels': {'a': '1', 'b': 'x'}}}");
        const oarlock_report *report = oarlock_test_reconcile(t);
        const json *found = json_get(report->status, "answer");
        OARLOCK_CHECK(json_count(found) == cases[i].count);
        if (i == 0) OARLOCK_CHECK_TEXT(json_text(json_path(json_at(found, 0), "metadata", "name")), "one");
        oarlock_test_free(t);
        oarlock_mem_free(mem);
    }
    oarlock_test *t = asks("owned");
    oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'mine', 'namespace': 'x', 'ownerReferences': [{'uid': 'u-1'}]}}");
    oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a', 'namespace': 'x', 'ownerReferences': [{'uid': 'u-2'}]}}");
    oarlock_test_reconcile(t);
    const json *found = json_path(oarlock_test_current(t), "status", "answer");
    OARLOCK_CHECK(json_count(found) == 1 && json_is(json_path(json_at(found, 0), "metadata", "name"), "mine"));
    oarlock_test_free(t);
    once_refused("list:a in (b)", OARLOCK_TERMINAL, "a native test does not know sets in selectors: a in (b)");
}

static void lists_go_by_declared_indexes(void) {
    static const struct { const char *asked, *names; } cases[] = {
        {"by-user=me", "one"}, {"by-user=you", "one two"}, {"by-user=7", "two"}, {"by-user=true", "one"}, {"by-user=0.5", ""},
        {"by-user=nobody", ""}, {"by-first=7", "two"}, {"by-first=me", "one"}, {"by-first=you", ""}, {"by-a=x", "two"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oarlock_mem *mem = oarlock_mem_new();
        oarlock_test *t = asks(cases[i].asked);
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'two', 'namespace': 'default', 'labels': {'example.com/a': 'x'}},"
                            " 'spec': {'users': [{'id': 7}, {'id': 'you'}]}}");
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'one', 'namespace': 'default'},"
                            " 'spec': {'users': [{'id': 'me'}, {'id': ['you', true, 0.5]}, {}]}}");
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'none', 'namespace': 'default'}}");
        oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'three', 'namespace': 'other'}, 'spec': {'users': [{'id': 'me'}]}}");
        const json *found = json_get(oarlock_test_reconcile(t)->status, "answer");
        const char *names = "";
        for (size_t j = 0; j < json_count(found); j++)
            names = oarlock_text(mem, "%s%s%s", names, j ? " " : "", json_text(json_path(json_at(found, j), "metadata", "name")));
        OARLOCK_CHECK_TEXT(names, cases[i].names);
        oarlock_test_free(t);
        oarlock_mem_free(mem);
    }
    once_refused("by-name=x", OARLOCK_TERMINAL, "the manifest declares no index \"by-name\" of ConfigMap");
}

static void configuration_is_read_by_key(void) {
    once_refused("url", OARLOCK_TERMINAL, "the plugin's configuration does not set url");
    oarlock_test *t = asks("url");
    oarlock_test_config(t, "url", "http://x");
    oarlock_test_config(t, "other", "");
    answers(t, "['http://x', 'other']");
    oarlock_test_free(t);
}

static void values_in_the_cache_expire_and_are_lost_on_restart(void) {
    oarlock_test *t = asks("count");
    answers(t, "1");
    answers(t, "2");
    oarlock_test_advance(t, 59999);
    answers(t, "3");
    oarlock_test_advance(t, 60000);
    answers(t, "1");
    oarlock_test_restart(t);
    answers(t, "1");
    oarlock_test_free(t);
}

static void requests_go_to_granted_origins(void) {
    oarlock_test *t = asks("granted");
    oarlock_test_http(t, (oarlock_exchange){.method = "GET", .url = "http://granted.example.com/x", .status = 200, .body = "[1]",
                                            .headers = OARLOCK_LIST(oarlock_header, {"Content-Type", "application/json"})});
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK_JSON(report->status, "{'answer': [1]}");
    OARLOCK_CHECK_JSON(report->requests, "[{'method': 'GET', 'url': 'http://granted.example.com/x', 'headers': {}, 'body': ''}]");
    OARLOCK_CHECK_JSON(report->log, "[{'level': 'info', 'message': 'answered', 'fields': {'type': 'application/json'}}]");
    OARLOCK_CHECK(oarlock_test_http_left(t) == 0);
    refuses(t, OARLOCK_TRANSIENT, "unreachable: the test has no answer to GET http://granted.example.com/x");
    oarlock_test_http(t, (oarlock_exchange){.method = "PUT", .status = 200});
    refuses(t, OARLOCK_TERMINAL, "the request makes no sense: the test expects PUT any URL, not GET http://granted.example.com/x");
    OARLOCK_CHECK(oarlock_test_http_left(t) == 1);
    oarlock_test_free(t);
    t = asks("configured");
    refuses(t, OARLOCK_TERMINAL, "request denied: the manifest does not ask for http://configured.example.com");
    oarlock_test_config(t, "url", "HTTP://configured.example.com:80/base");
    oarlock_test_http(t, (oarlock_exchange){.status = 200, .body = "2"});
    answers(t, "2");
    oarlock_test_free(t);
    once_refused("foreign", OARLOCK_TERMINAL, "request denied: the manifest does not ask for http://granted.example.com:81");
    once_refused("relative", OARLOCK_TERMINAL, "the request makes no sense: not an absolute http or https URL: /x");
    once("encode", "'oarlock%3A%C3%BC%20%26%3D1%25'");
}

static void a_dry_run_lets_only_reads_and_safe_requests_out(void) {
    oarlock_test *t = asks("delete");
    oarlock_test_dry_run(t);
    refuses(t, OARLOCK_TERMINAL, "request denied: dry run: DELETE /x");
    oarlock_test_free(t);
    static const char *const safe[] = {"granted", "token"};
    for (size_t i = 0; i < 2; i++) {
        t = asks(safe[i]);
        oarlock_test_dry_run(t);
        oarlock_test_http(t, (oarlock_exchange){.status = 201, .body = "true"});
        const oarlock_report *report = oarlock_test_reconcile(t);
        OARLOCK_CHECK(report->in_sync);
        if (i == 1) OARLOCK_CHECK_JSON(report->requests, "[{'method': 'POST', 'url': 'http://granted.example.com/v3/tokens', 'headers': {'content-type': 'application/json'}, 'body': '{\"a\":1}'}]");
        OARLOCK_CHECK(json_get(oarlock_test_current(t), "status") == NULL);
        oarlock_test_free(t);
    }
}

static void failures_and_statuses_say_who_tries_again(void) {
    const struct { oarlock_exchange exchange; oarlock_error_type type; uint64_t delay_ms; const char *message; } cases[] = {
        {{.failure = OARLOCK_HTTP_TIMED_OUT}, OARLOCK_TRANSIENT, 0, "no answer in time"},
        {{.failure = OARLOCK_HTTP_UNREACHABLE, .body = "reset"}, OARLOCK_TRANSIENT, 0, "unreachable: reset"},
        {{.failure = OARLOCK_HTTP_TOO_LARGE, .body = "9"}, OARLOCK_TRANSIENT, 0, "the answer is larger than 9 bytes"},
        {{.failure = OARLOCK_HTTP_DENIED, .body = "no"}, OARLOCK_TERMINAL, 0, "request denied: no"},
        {{.failure = OARLOCK_HTTP_INVALID, .body = "no"}, OARLOCK_TERMINAL, 0, "the request makes no sense: no"},
        {{.status = 503, .body = "busy"}, OARLOCK_TRANSIENT, 0, "status 503: busy"},
        {{.status = 404, .body = "none"}, OARLOCK_TERMINAL, 0, "status 404: none"},
        {{.status = 429, .headers = OARLOCK_LIST(oarlock_header, {"Retry-After", " 7 "})}, OARLOCK_TRANSIENT, 7000, "status 429: "},
        {{.status = 429, .headers = OARLOCK_LIST(oarlock_header, {"Retry-After", "Fri, 31 Dec"})}, OARLOCK_TRANSIENT, 0, "status 429: "},
        {{.status = 200, .body = "<html>"}, OARLOCK_TRANSIENT, 0, "the answer (status 200) is not JSON: expected a value at byte 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oarlock_test *t = asks("granted");
        oarlock_test_http(t, cases[i].exchange);
        const oarlock_report *report = oarlock_test_reconcile(t);
        OARLOCK_CHECK(report->error && report->error->type == cases[i].type && report->error->delay_ms == cases[i].delay_ms);
        OARLOCK_CHECK_TEXT(report->error ? report->error->message : NULL, cases[i].message);
        oarlock_test_free(t);
    }
}

static void attempts_are_counted_since_the_last_success(void) {
    oarlock_test *t = asks("transient");
    refuses(t, OARLOCK_TRANSIENT, "not yet");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->error->delay_ms == 5000);
    oarlock_test_edit(t, "{'spec': {'ask': 'whole'}}");
    oarlock_test_reconcile(t);
    int64_t attempt = 0;
    OARLOCK_CHECK(json_int(json_at(json_path(oarlock_test_current(t), "status", "answer"), 7), &attempt) && attempt == 3);
    oarlock_test_free(t);
}

static void an_object_with_cleanup_goes_when_nothing_is_left(void) {
    oarlock_test *t = asks("get");
    oarlock_test_delete(t);
    OARLOCK_CHECK(oarlock_test_current(t) != NULL);
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->gone && !report->desired && report->in_sync && !oarlock_test_current(t));
    oarlock_test_free(t);
}

/* ---- The changer: makes the ConfigMap "card" hold spec.data, in the way spec.how says ---- */

static const oarlock_manifest changer_manifest = {
    .name = "changer",
    .version = "1",
    .primaries = OARLOCK_LIST(oarlock_primary, {.kind = {"example.com/v1", "Thing"}}),
    .watches = OARLOCK_LIST(oarlock_watch, {.kind = {"v1", "ConfigMap"}, .map_to = OARLOCK_CACHE_ONLY}),
};

static oarlock_error *changer_desired(oarlock_context *cx, const json **state) {
    *state = json_path(cx->object, "spec", "data");
    return NULL;
}

static oarlock_error *changer_actual(oarlock_context *cx, oarlock_observation *out) {
    const json *card = NULL;
    OARLOCK_TRY(oarlock_get_applied(cx, CONFIG_MAP, "default", "card", &card));
    if (!card) OARLOCK_TRY(oarlock_get_object(cx, CONFIG_MAP, "default", "card", &card));
    out->state = json_get(card, "data");
    out->requeue_after_ms = 9000;
    return NULL;
}

static oarlock_error *changer_patch(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out) {
    (void)actual;
    const char *how = json_text(json_path(cx->object, "spec", "how"));
    const json *card = json_make(cx->mem, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'card', 'namespace': 'default'}, 'data': %j}", desired);
    out->requeue_after_ms = 3000;
    oarlock_record(out, OARLOCK_WARNING, "Changed", "as %s told", how);
    if (!desired) oarlock_delete(out, CONFIG_MAP, "default", "card");
    else if (!strcmp(how, "apply")) oarlock_apply(out, card)->force = true;
    else if (!strcmp(how, "create")) oarlock_create(out, card);
    else if (!strcmp(how, "merge"))
        oarlock_patch(out, CONFIG_MAP, "default", "card", OARLOCK_MERGE_PATCH, json_make(cx->mem, "{'data': %j}", desired));
    else if (!strcmp(how, "json"))
        oarlock_patch(out, CONFIG_MAP, "default", "card", OARLOCK_JSON_PATCH, json_make(cx->mem, "[{'op': 'replace', 'path': '/data', 'value': %j}]", desired));
    else if (!strcmp(how, "strategic"))
        oarlock_patch(out, CONFIG_MAP, "default", "card", OARLOCK_STRATEGIC_MERGE_PATCH, json_make(cx->mem, "{'data': %j}", desired));
    else if (!strcmp(how, "stale")) oarlock_apply(out, card)->if_uid = "another";
    return NULL;
}

static const oarlock_reconciler changer = {&changer_manifest, changer_desired, changer_actual, changer_patch};

static oarlock_test *changes(const char *how, bool existing) {
    oarlock_test *t = oarlock_test_new(&changer);
    oarlock_test_object(t, "{'apiVersion': 'example.com/v1', 'kind': 'Thing', 'metadata': {'name': 'a', 'namespace': 'default'}, 'spec': {'how': %s, 'data': {'word': 'new'}}}", how);
    if (existing) oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'card', 'namespace': 'default'}, 'data': {'old': '1'}}");
    return t;
}

static const json *card(oarlock_test *t) { return json_get(oarlock_test_get(t, CONFIG_MAP, "default", "card"), "data"); }

static void changes_are_carried_out_as_the_api_server_would(void) {
    static const struct { const char *how; bool existing; const char *data; const char *change; } cases[] = {
        {"apply", false, "{'word': 'new'}", "[{'apply': {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'card', 'namespace': 'default'}, 'data': {'word': 'new'}}, 'force': true}]"},
        {"apply", true, "{'old': '1', 'word': 'new'}", NULL},
        {"create", false, "{'word': 'new'}", NULL},
        {"merge", true, "{'old': '1', 'word': 'new'}", "[{'patch': {'target': {'apiVersion': 'v1', 'kind': 'ConfigMap', 'namespace': 'default', 'name': 'card'}, 'type': 'merge', 'patch': {'data': {'word': 'new'}}}}]"},
        {"json", true, "{'word': 'new'}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oarlock_test *t = changes(cases[i].how, cases[i].existing);
        const oarlock_report *report = oarlock_test_reconcile(t);
        OARLOCK_CHECK(!report->error && report->patched && report->requeue_after_ms == 3000);
        OARLOCK_CHECK_JSON(report->events, "[{'severity': 'warning', 'reason': 'Changed', 'message': %s}]",
                           strcmp(cases[i].how, "apply") ? strcmp(cases[i].how, "json") ? strcmp(cases[i].how, "merge") ? "as create told" : "as merge told" : "as json told" : "as apply told");
        OARLOCK_CHECK_JSON(card(t), cases[i].data);
        if (cases[i].change) OARLOCK_CHECK_JSON(report->changes, cases[i].change);
        oarlock_test_free(t);
    }
}

static void changes_that_cannot_be_carried_out_end_the_reconcile(void) {
    static const struct { const char *how; bool existing; const char *message; } cases[] = {
        {"create", true, "create: ConfigMap card already exists"},
        {"merge", false, "patch: ConfigMap card does not exist"},
        {"stale", true, "precondition failed: card is not the object that was looked at"},
        {"strategic", true, "patch: a native test does no strategic merge"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oarlock_test *t = changes(cases[i].how, cases[i].existing);
        const oarlock_report *report = oarlock_test_reconcile(t);
        OARLOCK_CHECK_TEXT(report->error ? report->error->message : NULL, cases[i].message);
        OARLOCK_CHECK(json_count(report->events) == 0);
        oarlock_test_free(t);
    }
}

static void fields_left_out_of_an_apply_are_removed(void) {
    oarlock_test *t = changes("apply", true);
    oarlock_test_reconcile(t);
    OARLOCK_CHECK(!oarlock_test_reconcile(t)->patched);
    oarlock_test_edit(t, "{'spec': {'data': {'word': null, 'other': '2'}}}");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->in_sync);
    OARLOCK_CHECK_JSON(card(t), "{'old': '1', 'other': '2'}");
    /* What others write beside it is no difference, what they change of it is. */
    oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'card', 'namespace': 'default'}, 'data': {'other': '2', 'third': '3'}}");
    OARLOCK_CHECK(!oarlock_test_reconcile(t)->patched);
    oarlock_test_put(t, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'card', 'namespace': 'default'}, 'data': {'other': '3'}}");
    OARLOCK_CHECK(oarlock_test_reconcile(t)->patched);
    OARLOCK_CHECK_JSON(card(t), "{'other': '2'}");
    oarlock_test_edit(t, "{'spec': {'data': null}}");
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK_JSON(report->changes, "[{'delete': {'apiVersion': 'v1', 'kind': 'ConfigMap', 'namespace': 'default', 'name': 'card'}}]");
    OARLOCK_CHECK(report->in_sync && !card(t));
    oarlock_test_free(t);
}

static void a_dry_run_changes_nothing(void) {
    oarlock_test *t = changes("apply", false);
    oarlock_test_dry_run(t);
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->patched && json_count(report->changes) == 1 && !report->in_sync && !card(t));
    oarlock_test_free(t);
}

static void an_object_that_is_gone_is_known_by_its_last_state(void) {
    oarlock_test *t = changes("apply", false);
    oarlock_test_reconcile(t);
    oarlock_test_delete(t);
    OARLOCK_CHECK(!oarlock_test_get(t, THING, "default", "a"));
    const oarlock_report *report = oarlock_test_reconcile(t);
    OARLOCK_CHECK(report->in_sync && report->patched && !report->desired && !card(t));
    oarlock_test_free(t);
}

/* ---- The gate: refuses what nobody sends, and labels the rest ---- */

static const oarlock_manifest gate_manifest = {.name = "gate", .version = "1"};

static oarlock_error *gate_desired(oarlock_context *cx, const json **state) {
    if (json_is(json_path(cx->review, "userInfo", "username"), "nobody")) return oarlock_denied(cx, "nobody may do that");
    *state = json_make(cx->mem, "%s", cx->ns);
    return NULL;
}

static oarlock_error *gate_actual(oarlock_context *cx, oarlock_observation *out) {
    out->state = json_path(cx->object, "metadata", "labels", "gate");
    return NULL;
}

static oarlock_error *gate_patch(oarlock_context *cx, const json *desired, const json *actual, oarlock_outcome *out) {
    (void)actual;
    const json *labels = json_path(cx->object, "metadata", "labels");
    oarlock_patch_reviewed(out, OARLOCK_JSON_PATCH, labels
        ? json_make(cx->mem, "[{'op': 'add', 'path': '/metadata/labels/gate', 'value': %j}]", desired)
        : json_make(cx->mem, "[{'op': 'add', 'path': '/metadata/labels', 'value': {}}, {'op': 'add', 'path': '/metadata/labels/gate', 'value': %j}]", desired));
    oarlock_warn_user(out, "labelled %s", json_text(desired));
    return NULL;
}

static const oarlock_reconciler gate = {&gate_manifest, gate_desired, gate_actual, gate_patch};

static void admission_changes_the_object_under_review_or_refuses_it(void) {
    oarlock_test *t = oarlock_test_new(&gate);
    const oarlock_report *report = oarlock_test_admit(t, "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'generateName': 'a-'}}", "{'namespace': 'shop', 'userInfo': {'username': 'a'}}");
    OARLOCK_CHECK(report->in_sync);
    OARLOCK_CHECK_JSON(report->warnings, "['labelled shop']");
    OARLOCK_CHECK_JSON(report->object, "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'generateName': 'a-', 'labels': {'gate': 'shop'}}}");
    report = oarlock_test_admit(t, "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}}", "{'userInfo': {'username': 'nobody'}}");
    OARLOCK_CHECK(report->error && report->error->type == OARLOCK_DENIED && report->error->code == 403);
    OARLOCK_CHECK_JSON(report->object, "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}}");
    oarlock_test_free(t);
}

int main(void) {
    OARLOCK_RUN(a_manifest_is_the_document_it_was_written_as);
    OARLOCK_RUN(the_context_says_what_it_is_about);
    OARLOCK_RUN(reads_reach_what_the_manifest_names);
    OARLOCK_RUN(lists_go_by_labels_and_owners);
    OARLOCK_RUN(lists_go_by_declared_indexes);
    OARLOCK_RUN(configuration_is_read_by_key);
    OARLOCK_RUN(values_in_the_cache_expire_and_are_lost_on_restart);
    OARLOCK_RUN(requests_go_to_granted_origins);
    OARLOCK_RUN(a_dry_run_lets_only_reads_and_safe_requests_out);
    OARLOCK_RUN(failures_and_statuses_say_who_tries_again);
    OARLOCK_RUN(attempts_are_counted_since_the_last_success);
    OARLOCK_RUN(an_object_with_cleanup_goes_when_nothing_is_left);
    OARLOCK_RUN(changes_are_carried_out_as_the_api_server_would);
    OARLOCK_RUN(changes_that_cannot_be_carried_out_end_the_reconcile);
    OARLOCK_RUN(fields_left_out_of_an_apply_are_removed);
    OARLOCK_RUN(a_dry_run_changes_nothing);
    OARLOCK_RUN(an_object_that_is_gone_is_known_by_its_last_state);
    OARLOCK_RUN(admission_changes_the_object_under_review_or_refuses_it);
    return oarlock_test_end();
}
