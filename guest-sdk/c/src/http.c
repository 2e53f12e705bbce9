/* HTTP: what is common to all requests and answers. */
#include "host.h"
#include "oarlock.h"
#include <string.h>

oarlock_error *oarlock_http_send(oarlock_context *cx, const oarlock_http_request *request, oarlock_http_response *response) {
    oarlock_http_request sent = *request;
    size_t count = 0;
    while (request->headers && request->headers[count].name) count++;
    if (!sent.method) sent.method = "GET";
    if (!sent.url) oarlock_panic("oarlock_http_send: a request without a URL");
    if (sent.json_body) {
        host_text text = oarlock_document(cx->mem, sent.json_body, "the body of a request");
        sent.body = (oarlock_bytes){text.text, text.len};
        oarlock_header *headers = oarlock_alloc(cx->mem, (count + 2) * sizeof *headers);
        if (count) memcpy(headers, request->headers, count * sizeof *headers);
        headers[count] = (oarlock_header){"content-type", "application/json"};
        sent.headers = headers;
    }
    static const oarlock_header none[] = {{0}};
    *response = (oarlock_http_response){.headers = none, .body = {"", 0}};
    const char *why = "";
    response->failure = host_send(cx, &sent, response, &why);
    switch (response->failure) {
    case OARLOCK_ANSWERED: return NULL;
    case OARLOCK_HTTP_DENIED: return oarlock_terminal(cx, "request denied: %s", why);
    case OARLOCK_HTTP_INVALID: return oarlock_terminal(cx, "the request makes no sense: %s", why);
    case OARLOCK_HTTP_UNREACHABLE: return oarlock_transient(cx, "unreachable: %s", why);
    case OARLOCK_HTTP_TIMED_OUT: return oarlock_transient(cx, "no answer in time");
    case OARLOCK_HTTP_TOO_LARGE: return oarlock_transient(cx, "the answer is larger than %s bytes", why);
    }
    return oarlock_transient(cx, "no answer: %s", why);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool same_name(const char *a, const char *b) {
    while (*a && lower(*a) == lower(*b)) a++, b++;
    return !*a && !*b;
}

const char *oarlock_http_header(const oarlock_http_response *response, const char *name) {
    for (const oarlock_header *header = response->headers; header && header->name; header++)
        if (same_name(header->name, name)) return header->value;
    return NULL;
}

/* Retry-After in whole seconds. The form with a date counts as absent: a plugin has no clock to compare it with. */
static uint64_t retry_after_ms(const oarlock_http_response *response) {
    const char *text = oarlock_http_header(response, "retry-after");
    uint64_t seconds = 0;
    if (!text) return 0;
    while (*text == ' ') text++;
    if (!*text) return 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if (seconds < 1000000) seconds = seconds * 10 + (uint64_t)(*text - '0');
    while (*text == ' ') text++;
    return *text ? 0 : seconds * 1000;
}

oarlock_error *oarlock_http_check(oarlock_context *cx, const oarlock_http_response *response) {
    unsigned status = response->status;
    if (status >= 200 && status < 300) return NULL;
    int shown = response->body.len < 200 ? (int)response->body.len : 200;
    bool world = status == 408 || status == 425 || status == 429 || status >= 500;
    if (!world) return oarlock_terminal(cx, "status %u: %.*s", status, shown, response->body.bytes);
    oarlock_error *error = oarlock_transient(cx, "status %u: %.*s", status, shown, response->body.bytes);
    error->delay_ms = retry_after_ms(response);
    return error;
}

oarlock_error *oarlock_http_json(oarlock_context *cx, const oarlock_http_response *response, const json **value) {
    const char *problem = NULL;
    *value = json_parse(cx->mem, response->body.bytes, response->body.len, &problem);
    if (*value) return NULL;
    return oarlock_transient(cx, "the answer (status %u) is not JSON: %s", (unsigned)response->status, problem);
}

const char *oarlock_url_encode(oarlock_context *cx, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    char *encoded = oarlock_alloc(cx->mem, strlen(text) * 3 + 1), *to = encoded;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
        if (plain) {
            *to++ = (char)c;
        } else {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    return encoded;
}
