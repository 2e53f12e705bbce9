/* The host's functions over the world of the test that runs. */
#include "world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void host_panic(const char *message) {
    fprintf(stderr, "the plugin panics: %s\n", message);
    abort();
}

/* The test, for what a converter may not use. */
static oarlock_test *running(void) {
    if (oarlock_running->converting) oarlock_panic("the only import that works in a conversion is log");
    return oarlock_running;
}

static bool is_kind(const json *entry, oarlock_kind kind) {
    const char *group = json_text(json_get(entry, "group")), *version = json_text(json_get(entry, "version"));
    oarlock_mem *mem = oarlock_running->mem;
    const char *api_version = group && *group ? oarlock_text(mem, "%s/%s", group, version) : version;
    return !strcmp(api_version, kind.api_version) && json_is(json_get(entry, "kind"), kind.kind);
}

static oarlock_error *undeclared(oarlock_context *cx, oarlock_kind kind) {
    static const char *const lists[] = {"primaries", "watches"};
    for (size_t list = 0; list < 2; list++) {
        const json *entries = json_get(oarlock_running->manifest, lists[list]);
        for (size_t i = 0; i < json_count(entries); i++)
            if (is_kind(json_at(entries, i), kind)) return NULL;
    }
    return oarlock_terminal(cx, "the manifest names %s %s neither as a primary nor as a watch", kind.api_version, kind.kind);
}

static host_text printed(oarlock_context *cx, const json *value) {
    return value ? oarlock_document(cx->mem, value, "an object") : (host_text){NULL, 0};
}

oarlock_error *host_get(oarlock_context *cx, host_read read, oarlock_kind kind, const char *ns, const char *name, host_text *found) {
    oarlock_test *t = running();
    if (read != HOST_GET_LIVE) OARLOCK_TRY(undeclared(cx, kind));
    const record *known = world_find(t, kind, ns, name);
    *found = printed(cx, read == HOST_GET_APPLIED ? world_applied(t, known) : known ? known->object : NULL);
    return NULL;
}

static const char *trimmed(oarlock_mem *mem, const char *text, size_t len) {
    while (len && *text == ' ') text++, len--;
    while (len && text[len - 1] == ' ') len--;
    return oarlock_copy(mem, text, len);
}

/* `a=b`, `a==b`, `a!=b`, `a`, `!a`. */
static bool term_holds(oarlock_mem *mem, const json *labels, const char *term) {
    const char *equals = strchr(term, '=');
    if (!equals) return *term == '!' ? !json_get(labels, trimmed(mem, term + 1, strlen(term + 1))) : json_get(labels, term) != NULL;
    bool not = equals > term && equals[-1] == '!';
    const char *key = trimmed(mem, term, (size_t)(equals - term) - not);
    const char *value = equals + 1 + (equals[1] == '=');
    return json_is(json_get(labels, key), trimmed(mem, value, strlen(value))) != not;
}

static bool selected(oarlock_mem *mem, const json *object, const char *selector) {
    const json *labels = json_path(object, "metadata", "labels");
    while (selector && *selector) {
        size_t len = strcspn(selector, ",");
        const char *term = trimmed(mem, selector, len);
        if (*term && !term_holds(mem, labels, term)) return false;
        selector += len + (selector[len] == ',');
    }
    return true;
}

static bool owned_by(const json *object, const char *uid) {
    const json *owners = json_path(object, "metadata", "ownerReferences");
    for (size_t i = 0; i < json_count(owners); i++)
        if (json_is(json_get(json_at(owners, i), "uid"), uid)) return true;
    return false;
}

/* Those for which `indexed` has `value`. `indexed` NULL: all. */
static oarlock_error *list(oarlock_context *cx, oarlock_kind kind, const json *indexed, const char *value,
                           const oarlock_list_options *options, host_text **found, size_t *count) {
    OARLOCK_TRY(undeclared(cx, kind));
    const char *ns = options->ns ? options->ns : "", *uid = options->owner_uid ? options->owner_uid : "";
    if (options->label_selector && strpbrk(options->label_selector, "()"))
        return oarlock_terminal(cx, "a native test does not know sets in selectors: %s", options->label_selector);
    size_t room = 1;
    for (const record *one = running()->records; one; one = one->next) room++;
    *found = oarlock_alloc(cx->mem, room * sizeof **found);
    for (const record *one = oarlock_running->records; one; one = one->next) {
        bool wanted = !strcmp(one->api_version, kind.api_version) && !strcmp(one->kind, kind.kind) && (!*ns || !strcmp(one->ns, ns)) &&
                      (!*uid || owned_by(one->object, uid)) && selected(cx->mem, one->object, options->label_selector) &&
                      (!indexed || world_indexed(cx->mem, indexed, one->object, value));
        if (wanted && (!options->limit || *count < options->limit)) (*found)[(*count)++] = printed(cx, one->object);
    }
    return NULL;
}

oarlock_error *host_list(oarlock_context *cx, oarlock_kind kind, const oarlock_list_options *options, host_text **found,
                         size_t *count) {
    return list(cx, kind, NULL, NULL, options, found, count);
}

oarlock_error *host_list_indexed(oarlock_context *cx, oarlock_kind kind, const char *index, const char *value,
                                 const oarlock_list_options *options, host_text **found, size_t *count) {
    OARLOCK_TRY(undeclared(cx, kind));
    const json *indexes = json_get(running()->manifest, "indexes");
    for (size_t i = 0; i < json_count(indexes); i++) {
        const json *one = json_at(indexes, i);
        if (is_kind(one, kind) && json_is(json_get(one, "name"), index)) return list(cx, kind, one, value, options, found, count);
    }
    return oarlock_terminal(cx, "the manifest declares no index \"%s\" of %s", index, kind.kind);
}

oarlock_error *host_merge(oarlock_context *cx, host_merge_type type, oarlock_kind kind, const host_text documents[3],
                          host_text *merged) {
    (void)type, (void)kind, (void)documents, (void)merged;
    return oarlock_terminal(cx, "a native test does no strategic merge: test it with `oarlock test`");
}

/* Scheme, host and port in lower case, without the scheme's own port. NULL: no absolute http or https URL. */
static const char *origin(oarlock_mem *mem, const char *url) {
    const char *after = strstr(url, "://");
    if (!after) return NULL;
    size_t len = (size_t)(after - url) + 3;
    len += strcspn(url + len, "/?#");
    char *text = oarlock_copy(mem, url, len);
    for (char *at = text; *at; at++)
        if (*at >= 'A' && *at <= 'Z') *at = (char)(*at - 'A' + 'a');
    bool http = !strncmp(text, "http://", 7), https = !strncmp(text, "https://", 8);
    if ((!http && !https) || len <= (http ? 7u : 8u)) return NULL;
    const char *port = http ? ":80" : ":443";
    size_t port_len = strlen(port);
    if (len > port_len && !strcmp(text + len - port_len, port)) text[len - port_len] = '\0';
    return text;
}

static bool granted(oarlock_test *t, const char *wanted) {
    const json *origins = json_path(t->manifest, "http", "origins"), *keys = json_path(t->manifest, "http", "originsFromConfig");
    for (size_t i = 0; i < json_count(origins); i++) {
        const char *known = origin(t->mem, json_text(json_at(origins, i)));
        if (known && !strcmp(known, wanted)) return true;
    }
    for (size_t i = 0; i < json_count(keys); i++) {
        const char *url = json_text(json_get(t->config, json_text(json_at(keys, i))));
        const char *known = url ? origin(t->mem, url) : NULL;
        if (known && !strcmp(known, wanted)) return true;
    }
    return false;
}

static const char *path_of(oarlock_mem *mem, const char *url) {
    const char *path = strstr(url, "://") + 3;
    path += strcspn(path, "/?#");
    return *path == '/' ? oarlock_copy(mem, path, strcspn(path, "?#")) : "/";
}

/* Whether a request changes nothing. */
static bool safe(oarlock_test *t, const char *method, const char *path) {
    if (!strcmp(method, "GET") || !strcmp(method, "HEAD")) return true;
    const json *known = json_path(t->manifest, "http", "safeRequests");
    for (size_t i = 0; i < json_count(known); i++) {
        const char *pattern = json_text(json_get(json_at(known, i), "path"));
        if (!json_is(json_get(json_at(known, i), "method"), method)) continue;
        if (*pattern != '*' && !strcmp(pattern, path)) return true;
        size_t end = strlen(pattern + (*pattern == '*')), len = strlen(path);
        if (*pattern == '*' && len >= end && !strcmp(path + len - end, pattern + 1)) return true;
    }
    return false;
}

static void note(oarlock_test *t, const oarlock_http_request *request) {
    json *headers = json_new_object(t->mem);
    for (const oarlock_header *one = request->headers; one && one->name; one++) json_set(headers, one->name, json_new_text(t->mem, one->value));
    const json *body = request->body.len ? json_new_text_of(t->mem, request->body.bytes, request->body.len) : json_new_text(t->mem, "");
    json_append(t->requests, json_make(t->mem, "{'method': %s, 'url': %s, 'headers': %j, 'body': %j}", request->method, request->url,
                                       headers, body));
}

static void answer(oarlock_context *cx, const oarlock_exchange *exchange, oarlock_http_response *response) {
    const char *body = exchange->body ? exchange->body : "";
    size_t count = 0;
    while (exchange->headers && exchange->headers[count].name) count++;
    oarlock_header *headers = oarlock_alloc(cx->mem, (count + 1) * sizeof *headers);
    for (size_t i = 0; i < count; i++) {
        char *name = oarlock_text(cx->mem, "%s", exchange->headers[i].name);
        headers[i] = (oarlock_header){name, oarlock_text(cx->mem, "%s", exchange->headers[i].value)};
        for (; *name; name++)
            if (*name >= 'A' && *name <= 'Z') *name = (char)(*name - 'A' + 'a');
    }
    *response = (oarlock_http_response){.status = exchange->status, .headers = headers,
                                        .body = {oarlock_copy(cx->mem, body, strlen(body)), strlen(body)}};
}

oarlock_http_failure host_send(oarlock_context *cx, const oarlock_http_request *request, oarlock_http_response *response,
                               const char **why) {
    oarlock_test *t = running();
    const char *to = origin(cx->mem, request->url);
    if (!to) return *why = oarlock_text(cx->mem, "not an absolute http or https URL: %s", request->url), OARLOCK_HTTP_INVALID;
    if (!granted(t, to)) return *why = oarlock_text(cx->mem, "the manifest does not ask for %s", to), OARLOCK_HTTP_DENIED;
    const char *path = path_of(cx->mem, request->url);
    if (t->dry_run && !safe(t, request->method, path))
        return *why = oarlock_text(cx->mem, "dry run: %s %s", request->method, path), OARLOCK_HTTP_DENIED;
    note(t, request);
    awaited *next = t->exchanges;
    if (!next) {
        *why = oarlock_text(cx->mem, "the test has no answer to %s %s", request->method, request->url);
        return OARLOCK_HTTP_UNREACHABLE;
    }
    const oarlock_exchange *exchange = &next->exchange;
    if ((exchange->method && strcmp(exchange->method, request->method)) || (exchange->url && strcmp(exchange->url, request->url))) {
        *why = oarlock_text(cx->mem, "the test expects %s %s, not %s %s", exchange->method ? exchange->method : "any method of",
                            exchange->url ? exchange->url : "any URL", request->method, request->url);
        return OARLOCK_HTTP_INVALID;
    }
    t->exchanges = next->next;
    if (!t->exchanges) t->last_exchange = NULL;
    if (exchange->failure != OARLOCK_ANSWERED) {
        *why = exchange->body ? oarlock_text(cx->mem, "%s", exchange->body) : "as the test says";
        return exchange->failure;
    }
    answer(cx, exchange, response);
    return OARLOCK_ANSWERED;
}

oarlock_bytes host_cache_get(oarlock_context *cx, const char *key) {
    for (const cached *one = running()->cache; one; one = one->next) {
        bool alive = one->value.len && (!one->expires_ms || oarlock_running->now_ms < one->expires_ms);
        if (!strcmp(one->key, key)) {
            if (!alive) break;
            return (oarlock_bytes){oarlock_copy(cx->mem, one->value.bytes, one->value.len), one->value.len};
        }
    }
    return (oarlock_bytes){NULL, 0};
}

void host_cache_set(const char *key, oarlock_bytes value, uint64_t ttl_ms) {
    oarlock_test *t = running();
    cached *one = oarlock_alloc(t->mem, sizeof *one);
    *one = (cached){.key = world_text(t, key), .next = t->cache, .expires_ms = ttl_ms ? t->now_ms + ttl_ms : 0};
    one->value = (oarlock_bytes){oarlock_copy(t->mem, value.bytes, value.bytes ? value.len : 0), value.bytes ? value.len : 0};
    /* The newest of a key is found first. */
    t->cache = one;
}

const char *host_config(oarlock_context *cx, const char *key) {
    const char *value = json_text(json_get(running()->config, key));
    return value ? oarlock_copy(cx->mem, value, strlen(value)) : NULL;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char *const *host_config_keys(oarlock_context *cx) {
    size_t count = json_count(running()->config);
    const char **keys = oarlock_alloc(cx->mem, (count + 1) * sizeof *keys);
    for (size_t i = 0; i < count; i++) keys[i] = oarlock_text(cx->mem, "%s", json_name(oarlock_running->config, i));
    qsort(keys, count, sizeof *keys, by_text);
    return keys;
}

void host_log(oarlock_level level, const char *message, size_t len, const char *const *fields) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    oarlock_test *t = oarlock_running;
    if (!t) return;
    json *object = json_new_object(t->mem);
    for (; fields && fields[0] && fields[1]; fields += 2) json_set(object, fields[0], json_new_text(t->mem, fields[1]));
    json_append(t->log, json_make(t->mem, "{'level': %s, 'message': %j, 'fields': %j}", names[level],
                                  json_new_text_of(t->mem, message, len), object));
}
