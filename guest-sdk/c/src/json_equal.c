/* Whether two JSON values are the same. */
#include "json.h"
#include <string.h>

/* A number as digits without zeros at either end, times ten to the exponent. */
typedef struct {
    bool negative;
    const char *first, *last;
    /* Digits between them; a point is not counted. */
    size_t digits;
    int64_t exponent;
    /* The exponent is beyond what can be computed with. */
    bool vast;
} decimal;

static const int64_t VAST = INT64_C(1) << 60;

static decimal read_decimal(const char *text, size_t len) {
    decimal number = {0};
    const char *end = text + len, *mantissa, *point = NULL, *e;
    if (text < end && *text == '-') {
        number.negative = true;
        text++;
    }
    mantissa = text;
    for (e = text; e < end && *e != 'e' && *e != 'E'; e++)
        if (*e == '.') point = e;
    if (e < end) {
        const char *at = e + 1;
        bool down = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        for (; at < end; at++) {
            number.exponent = number.exponent * 10 + (*at - '0');
            if (number.exponent > VAST / 16) {
                number.vast = true;
                number.exponent = VAST / 16;
            }
        }
        if (down) number.exponent = -number.exponent;
    }
    const char *last = e;
    while (last > mantissa && (last[-1] == '0' || last[-1] == '.')) last--;
    const char *first = mantissa;
    while (first < last && (*first == '0' || *first == '.')) first++;
    number.first = first;
    number.last = last;
    if (first == last) return (decimal){.first = first, .last = first};
    number.digits = (size_t)(last - first) - (point && point >= first && point < last);
    /* Of the last digit's place. */
    int64_t shift = point ? (last > point ? -(int64_t)(last - point - 1) : (int64_t)(point - last)) : (int64_t)(e - last);
    number.exponent += shift;
    return number;
}

bool json_same_number(const char *a, size_t a_len, const char *b, size_t b_len) {
    if (a_len == b_len && !memcmp(a, b, a_len)) return true;
    decimal x = read_decimal(a, a_len), y = read_decimal(b, b_len);
    if (x.vast || y.vast) return false;
    if (x.digits != y.digits || x.negative != y.negative || x.exponent != y.exponent) return false;
    for (;;) {
        if (x.first < x.last && *x.first == '.') x.first++;
        if (y.first < y.last && *y.first == '.') y.first++;
        if (x.first == x.last || y.first == y.last) return x.first == x.last && y.first == y.last;
        if (*x.first++ != *y.first++) return false;
    }
}

static bool equal(const json *a, const json *b, int depth) {
    if (a == b) return true;
    if (!a || !b || a->type != b->type || depth > JSON_MAX_DEPTH) return false;
    switch (a->type) {
    case JSON_BOOL: return a->truth == b->truth;
    case JSON_NUMBER: return json_same_number(a->text, a->len, b->text, b->len);
    case JSON_STRING: return a->len == b->len && !memcmp(a->text, b->text, a->len);
    case JSON_ARRAY:
        if (a->count != b->count) return false;
        for (size_t i = 0; i < a->count; i++)
            if (!equal(a->items[i], b->items[i], depth + 1)) return false;
        return true;
    case JSON_OBJECT:
        if (a->count != b->count) return false;
        for (size_t i = 0; i < a->count; i++) {
            const json_member *other = json_find(b, a->members[i].name, a->members[i].len);
            if (!other || !equal(a->members[i].value, other->value, depth + 1)) return false;
        }
        return true;
    case JSON_ABSENT:
    case JSON_NULL: break;
    }
    return true;
}

bool json_equal(const json *a, const json *b) { return equal(a, b, 0); }
