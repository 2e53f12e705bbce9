/* From text to values: JSON alone, or with the places of json_make. */
#include "json.h"
#include "host.h"
#include <string.h>

typedef struct {
    oarlock_mem *mem;
    const char *start, *at, *end;
    /* NULL: JSON alone. */
    json_arguments *arguments;
    const char *problem;
    int depth;
} reader;

static json *failed(reader *r, const char *what) {
    if (!r->problem) r->problem = oarlock_text(r->mem, "%s at byte %lu", what, (unsigned long)(r->at - r->start));
    return NULL;
}

static void skip_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

/* The next character, after space; 0 at the end (a NUL is no part of JSON). */
static char next(reader *r) {
    skip_space(r);
    return r->at < r->end ? *r->at : '\0';
}

size_t json_utf8(const char *text, const char *end) {
    const unsigned char *s = (const unsigned char *)text;
    size_t left = (size_t)(end - text);
    if (!left) return 0;
    if (s[0] < 0x80) return 1;
    size_t len = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || left < len) return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    /* Spelled longer than need be, surrogates, and what is beyond U+10FFFF. */
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F)) return 0;
    if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F)) return 0;
    return len;
}

/* Four hexadecimal digits; -1: they are not. */
static long hex4(reader *r) {
    if (r->end - r->at < 4) return -1;
    long code = 0;
    for (int i = 0; i < 4; i++) {
        char c = r->at[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    r->at += 4;
    return code;
}

static char *encode(char *to, long code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *to++ = (char)(0xE0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    } else {
        *to++ = (char)(0xF0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    }
    return to;
}

/* After a backslash: writes what it stands for. NULL: nothing. */
static char *unescape(reader *r, char *to) {
    if (r->at == r->end) return NULL;
    char c = *r->at++;
    switch (c) {
    case '"':
    case '\\':
    case '/': *to++ = c; return to;
    case 'b': *to++ = '\b'; return to;
    case 'f': *to++ = '\f'; return to;
    case 'n': *to++ = '\n'; return to;
    case 'r': *to++ = '\r'; return to;
    case 't': *to++ = '\t'; return to;
    case '\'':
        if (!r->arguments) return NULL;
        *to++ = c;
        return to;
    case 'u': break;
    default: return NULL;
    }
    long code = hex4(r);
    if (code >= 0xD800 && code < 0xDC00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u') return NULL;
        r->at += 2;
        long low = hex4(r);
        if (low < 0xDC00 || low > 0xDFFF) return NULL;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code < 0 || (code >= 0xDC00 && code < 0xE000)) {
        return NULL;
    }
    return encode(to, code);
}

/* A string, from its quote on. False: a problem. */
static bool read_string(reader *r, const char **text, size_t *len) {
    char quote = *r->at++;
    const char *close = r->at;
    while (close < r->end && *close != quote) close += *close == '\\' && r->end - close > 1 ? 2 : 1;
    /* What an escape stands for is never longer than the escape. */
    char *to = oarlock_alloc(r->mem, (size_t)(close - r->at) + 1);
    *text = to;
    while (r->at < r->end && *r->at != quote) {
        if (*r->at == '\\') {
            const char *escape = r->at++;
            char *after = unescape(r, to);
            if (!after) {
                r->at = escape;
                return failed(r, "an escape that is none"), false;
            }
            to = after;
            continue;
        }
        size_t bytes = json_utf8(r->at, r->end);
        if (!bytes) return failed(r, "not UTF-8"), false;
        if ((unsigned char)*r->at < 0x20) return failed(r, "a control character in a string"), false;
        memcpy(to, r->at, bytes);
        to += bytes;
        r->at += bytes;
    }
    if (r->at == r->end) return failed(r, "a string without an end"), false;
    r->at++;
    *len = (size_t)(to - *text);
    return true;
}

static bool digits(reader *r) {
    const char *first = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > first;
}

static json *read_number(reader *r) {
    const char *first = r->at;
    if (*r->at == '-') r->at++;
    if (r->at < r->end && *r->at == '0') r->at++;
    else if (!digits(r)) return failed(r, "expected a digit");
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!digits(r)) return failed(r, "expected a digit");
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        if (!digits(r)) return failed(r, "expected a digit");
    }
    size_t len = (size_t)(r->at - first);
    return json_new_spelled(r->mem, JSON_NUMBER, oarlock_copy(r->mem, first, len), len);
}

static json *read_argument(reader *r) {
    r->at++;
    char which = r->at < r->end ? *r->at++ : '\0';
    switch (which) {
    case 's': return json_new_text(r->mem, va_arg(r->arguments->list, const char *));
    case 'd': return json_new_int(r->mem, va_arg(r->arguments->list, int));
    case 'l': return json_new_int(r->mem, va_arg(r->arguments->list, int64_t));
    case 'f': return json_new_double(r->mem, va_arg(r->arguments->list, double));
    case 'b': return json_new_bool(r->mem, va_arg(r->arguments->list, int) != 0);
    case 'j': {
        json *value = (json *)va_arg(r->arguments->list, const json *);
        return value ? value : json_new_null(r->mem);
    }
    default: return failed(r, "expected s, j, d, l, f or b after %");
    }
}

static bool word(reader *r, const char *text) {
    size_t len = strlen(text);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, text, len)) return false;
    r->at += len;
    return true;
}

static json *read_value(reader *r);

static json *read_array(reader *r) {
    json *array = json_new_array(r->mem);
    r->at++;
    if (next(r) == ']') return r->at++, array;
    for (;;) {
        const json *item = read_value(r);
        if (!item) return NULL;
        json_append(array, item);
        char c = next(r);
        if (c != ',' && c != ']') return failed(r, "expected , or ]");
        r->at++;
        if (c == ']') return array;
    }
}

static bool read_name(reader *r, const char **name, size_t *len) {
    char c = next(r);
    if (c == '"' || (c == '\'' && r->arguments)) return read_string(r, name, len);
    if (c != '%' || !r->arguments) return failed(r, "expected a name"), false;
    const json *value = read_argument(r);
    if (!value) return false;
    if (value->type != JSON_STRING) return failed(r, "a name that is no string"), false;
    *name = value->text;
    *len = value->len;
    return true;
}

static json *read_object(reader *r) {
    json *object = json_new_object(r->mem);
    r->at++;
    if (next(r) == '}') return r->at++, object;
    for (;;) {
        const char *name = NULL;
        size_t len = 0;
        if (!read_name(r, &name, &len)) return NULL;
        if (next(r) != ':') return failed(r, "expected :");
        r->at++;
        const json *value = read_value(r);
        if (!value) return NULL;
        json_put(object, name, len, value);
        char c = next(r);
        if (c != ',' && c != '}') return failed(r, "expected , or }");
        r->at++;
        if (c == '}') return object;
    }
}

static json *read_value(reader *r) {
    char c = next(r);
    if (c == '{' || c == '[') {
        if (r->depth == JSON_MAX_DEPTH) return failed(r, "nested too deeply");
        r->depth++;
        json *value = c == '{' ? read_object(r) : read_array(r);
        r->depth--;
        return value;
    }
    if (c == '"' || (c == '\'' && r->arguments)) {
        const char *text = NULL;
        size_t len = 0;
        return read_string(r, &text, &len) ? json_new_spelled(r->mem, JSON_STRING, text, len) : NULL;
    }
    if (c == '-' || (c >= '0' && c <= '9')) return read_number(r);
    if (c == '%' && r->arguments) return read_argument(r);
    if (word(r, "null")) return json_new_null(r->mem);
    if (word(r, "true")) return json_new_bool(r->mem, true);
    if (word(r, "false")) return json_new_bool(r->mem, false);
    return failed(r, r->at == r->end ? "expected a value, found the end" : "expected a value");
}

json *json_read(oarlock_mem *mem, const char *text, size_t len, json_arguments *arguments, const char **problem) {
    reader r = {.mem = mem, .start = text, .at = text, .end = text + len, .arguments = arguments};
    json *value = read_value(&r);
    if (value && (skip_space(&r), r.at < r.end)) value = failed(&r, "something after the document");
    if (problem) *problem = value ? NULL : r.problem;
    return value;
}

json *json_parse(oarlock_mem *mem, const char *text, size_t len, const char **problem) {
    return json_read(mem, text ? text : "", text ? len : 0, NULL, problem);
}

json *json_parse_text(oarlock_mem *mem, const char *text, const char **problem) {
    return json_parse(mem, text, text ? strlen(text) : 0, problem);
}

json *json_vmake(oarlock_mem *mem, const char *text, va_list list) {
    json_arguments arguments;
    const char *problem = NULL;
    va_copy(arguments.list, list);
    json *value = json_read(mem, text, strlen(text), &arguments, &problem);
    va_end(arguments.list);
    if (!value) oarlock_panic("json_make: %s of %s", problem, text);
    return value;
}

json *json_make(oarlock_mem *mem, const char *text, ...) {
    va_list list;
    va_start(list, text);
    json *value = json_vmake(mem, text, list);
    va_end(list);
    return value;
}
