/* JSON values: what is read, what is refused, and that nothing that is fed to them ends the program. */
#include <oarlock/testing.h>
#include <stdlib.h>
#include <string.h>

static oarlock_mem *mem;

/* What `text` is when it is read and printed, or the problem. */
static const char *read_and_printed(const char *text) {
    const char *problem = NULL;
    const json *value = json_parse_text(mem, text, &problem);
    OARLOCK_CHECK((value == NULL) == (problem != NULL));
    return value ? json_print(mem, value, NULL) : problem;
}

static void documents_are_printed_as_they_were_read(void) {
    static const char *const pairs[][2] = {
        {"null", "null"},
        {" [ true , false\t,\r\n null ] ", "[true,false,null]"},
        {"{ \"b\" : 1 , \"a\" : { } , \"c\" : [ ] }", "{\"b\":1,\"a\":{},\"c\":[]}"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
        {"-0", "-0"},
        {"12345678901234567890123456789.50e+07", "12345678901234567890123456789.50e+07"},
        {"\"\\u0041\\u00fc\\u20ac\\ud83d\\ude00\"", "\"A\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\""},
        {"\"it's 100 %\"", "\"it's 100 %\""},
        {"\"\x7F\"", "\"\x7F\""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) OARLOCK_CHECK_TEXT(read_and_printed(pairs[i][0]), pairs[i][1]);
}

static void what_is_no_json_is_refused_with_its_place(void) {
    static const char *const pairs[][2] = {
        {"", "expected a value, found the end at byte 0"},
        {"  ", "expected a value, found the end at byte 2"},
        {"nul", "expected a value at byte 0"},
        {"True", "expected a value at byte 0"},
        {"1 2", "something after the document at byte 2"},
        {"01", "something after the document at byte 1"},
        {"-", "expected a digit at byte 1"},
        {"+1", "expected a value at byte 0"},
        {".5", "expected a value at byte 0"},
        {"1.", "expected a digit at byte 2"},
        {"1e", "expected a digit at byte 2"},
        {"1e+", "expected a digit at byte 3"},
        {"NaN", "expected a value at byte 0"},
        {"[1,]", "expected a value at byte 3"},
        {"[1 2]", "expected , or ] at byte 3"},
        {"[", "expected a value, found the end at byte 1"},
        {"[1", "expected , or ] at byte 2"},
        {"{\"a\":1,}", "expected a name at byte 7"},
        {"{\"a\" 1}", "expected : at byte 5"},
        {"{\"a\":}", "expected a value at byte 5"},
        {"{1:2}", "expected a name at byte 1"},
        {"{\"a\":1", "expected , or } at byte 6"},
        {"'a'", "expected a value at byte 0"},
        {"%s", "expected a value at byte 0"},
        {"{'a':1}", "expected a name at byte 1"},
        {"\"a", "a string without an end at byte 2"},
        {"\"a\\", "an escape that is none at byte 2"},
        {"\"\\x\"", "an escape that is none at byte 1"},
        {"\"\\'\"", "an escape that is none at byte 1"},
        {"\"\\u12g4\"", "an escape that is none at byte 1"},
        {"\"\\ud800\"", "an escape that is none at byte 1"},
        {"\"\\ud800\\u0041\"", "an escape that is none at byte 1"},
        {"\"\\udc00\"", "an escape that is none at byte 1"},
        {"\"\n\"", "a control character in a string at byte 1"},
        {"\"\x80\"", "not UTF-8 at byte 1"},
        {"\"\xC0\xAF\"", "not UTF-8 at byte 1"},
        {"\"\xE0\x80\xAF\"", "not UTF-8 at byte 1"},
        {"\"\xED\xA0\x80\"", "not UTF-8 at byte 1"},
        {"\"\xF4\x90\x80\x80\"", "not UTF-8 at byte 1"},
        {"\"\xE2\x82\"", "not UTF-8 at byte 1"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) OARLOCK_CHECK_TEXT(read_and_printed(pairs[i][0]), pairs[i][1]);
    /* A NUL is no end. */
    OARLOCK_CHECK(!json_parse(mem, "1\0", 2, NULL));
}

static void depth_is_bounded(void) {
    char text[2 * JSON_MAX_DEPTH + 3];
    for (size_t depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        bool fits = depth == JSON_MAX_DEPTH;
        const json *value = json_parse(mem, text, 2 * depth, NULL);
        OARLOCK_CHECK((value != NULL) == fits);
        if (value) OARLOCK_CHECK(json_print(mem, value, NULL) != NULL);
    }
    /* What a program makes is not printed when the host would not read it. */
    json *deep = json_new_array(mem);
    for (int i = 1; i < JSON_MAX_DEPTH; i++) {
        json *outer = json_new_array(mem);
        json_append(outer, deep);
        deep = outer;
    }
    OARLOCK_CHECK(json_print(mem, deep, NULL) != NULL);
    json *outer = json_new_array(mem);
    json_append(outer, deep);
    OARLOCK_CHECK(json_print(mem, outer, NULL) == NULL);
    /* Many brackets and no end: no matter how many. */
    enum { MANY = 1000000 };
    char *many = malloc(MANY);
    memset(many, '[', MANY);
    OARLOCK_CHECK(!json_parse(mem, many, MANY, NULL));
    for (size_t i = 0; i + 5 < MANY; i += 5) memcpy(many + i, "{\"a\":", 5);
    OARLOCK_CHECK(!json_parse(mem, many, MANY, NULL));
    free(many);
}

static bool same(const char *a, const char *b) {
    const json *x = json_parse_text(mem, a, NULL), *y = json_parse_text(mem, b, NULL);
    bool one = json_equal(x, y), other = json_equal(y, x);
    OARLOCK_CHECK(one == other);
    return one;
}

static void order_and_spelling_do_not_count(void) {
    static const char *const equal[][2] = {
        {"{\"a\":1,\"b\":[1.0,2e0]}", "{\"b\":[1,2],\"a\":1.0}"},
        {"0", "-0.00e7"},
        {"100", "1e2"},
        {"100", "1000.0E-1"},
        {"0.05", "5e-2"},
        {"0.05", "0.0500"},
        {"-12.50", "-1.25e1"},
        {"1e1000000000000000000000000", "1e1000000000000000000000000"},
        {"\"\\u0041\"", "\"A\""},
    };
    static const char *const different[][2] = {
        {"1", "true"}, {"null", "false"}, {"1", "\"1\""},   {"1", "-1"},       {"1", "10"},
        {"[1,2]", "[2,1]"}, {"[1]", "[1,1]"}, {"{}", "[]"}, {"{\"a\":1}", "{\"a\":1,\"b\":1}"}, {"{\"a\":null}", "{\"b\":null}"},
        {"9007199254740993", "9007199254740992"}, {"1.5", "15"}, {"0.5", "0.05"}, {"1e2", "1e3"}, {"0", "1e-400"},
        {"1e1000000000000000000000000", "1e2000000000000000000000000"}, {"\"a\"", "\"a\\u0000\""},
    };
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (!OARLOCK_CHECK(same(equal[i][0], equal[i][1]))) OARLOCK_CHECK_TEXT(equal[i][0], equal[i][1]);
    for (size_t i = 0; i < sizeof different / sizeof *different; i++)
        if (!OARLOCK_CHECK(!same(different[i][0], different[i][1]))) OARLOCK_CHECK_TEXT(different[i][0], different[i][1]);
    OARLOCK_CHECK(json_equal(NULL, NULL) && !json_equal(NULL, json_new_null(mem)));
}

static void absent_values_can_be_asked(void) {
    const json *value = json_make(mem, "{'a': {'b': ['x', {'c': 7}]}, 'n': null, 't': true}");
    int64_t number = 0;
    OARLOCK_CHECK_TEXT(json_text(json_at(json_path(value, "a", "b"), 0)), "x");
    OARLOCK_CHECK(json_int(json_get(json_at(json_path(value, "a", "b"), 1), "c"), &number) && number == 7);
    OARLOCK_CHECK(!json_path(value, "a", "x", "y") && !json_path(value, "t", "x") && !json_get(NULL, "a"));
    OARLOCK_CHECK(!json_at(json_path(value, "a", "b"), 2) && !json_at(NULL, 0) && json_count(NULL) == 0);
    OARLOCK_CHECK(json_type_of(json_get(value, "n")) == JSON_NULL && json_type_of(json_get(value, "x")) == JSON_ABSENT);
    OARLOCK_CHECK(json_true(json_get(value, "t")) && !json_true(json_get(value, "n")) && !json_true(NULL));
    OARLOCK_CHECK(json_text(json_get(value, "t")) == NULL && json_name(value, 3) == NULL);
    OARLOCK_CHECK_TEXT(json_name(value, 2), "t");
}

static void numbers_are_read_where_they_fit(void) {
    static const struct { const char *text; bool fits; int64_t number; } cases[] = {
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"\"1\"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t number = 0;
        const json *value = json_parse_text(mem, cases[i].text, NULL);
        OARLOCK_CHECK(json_int(value, &number) == cases[i].fits && number == cases[i].number);
        if (cases[i].fits) OARLOCK_CHECK_TEXT(json_print(mem, json_new_int(mem, number), NULL), cases[i].text);
    }
    double real = 0;
    OARLOCK_CHECK(json_double(json_parse_text(mem, "0.1", NULL), &real) && real == 0.1);
    OARLOCK_CHECK_TEXT(json_print(mem, json_new_double(mem, 0.1), NULL), "0.1");
    OARLOCK_CHECK_TEXT(json_print(mem, json_new_double(mem, 1e300 * 1e300), NULL), "null");
}

static void values_are_made_of_text_with_places(void) {
    const json *part = json_make(mem, "[1]");
    const json *value = json_make(mem, "{%s: %s, 'it\\'s': %d, \"l\": %l, 'b': [%b, %b], 'f': %f, 'j': %j, 'n': [%s, %j]}", "k\"ey", "v'\"\n", -3,
                                  INT64_MIN, true, false, 0.5, part, (char *)NULL, (json *)NULL);
    OARLOCK_CHECK_TEXT(json_print(mem, value, NULL),
                       "{\"k\\\"ey\":\"v'\\\"\\n\",\"it's\":-3,\"l\":-9223372036854775808,\"b\":[true,false],\"f\":0.5,\"j\":[1],\"n\":[null,null]}");
    /* Text that is not UTF-8 does not reach the host. */
    OARLOCK_CHECK_TEXT(json_text(json_new_text(mem, "a\xFF" "b\xE2\x82")), "a\xEF\xBF\xBD" "b\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void large_objects_find_their_members(void) {
    json *object = json_new_object(mem);
    enum { MANY = 20000 };
    for (int i = 0; i < MANY; i++) json_set(object, oarlock_text(mem, "key-%d", i), json_new_int(mem, i));
    for (int i = 0; i < MANY; i += 3) json_set(object, oarlock_text(mem, "key-%d", i), json_new_int(mem, -i));
    OARLOCK_CHECK(json_count(object) == MANY);
    bool right = true;
    for (int i = 0; i < MANY; i++) {
        int64_t number = 0;
        right &= json_int(json_get(object, oarlock_text(mem, "key-%d", i)), &number) && number == (i % 3 ? i : -i);
    }
    OARLOCK_CHECK(right && !json_get(object, "key-20000"));
    json *copy = json_copy(mem, object);
    for (int i = 0; i < 12; i++) json_set(copy, oarlock_text(mem, "key-%d", i), NULL);
    OARLOCK_CHECK(json_count(copy) == MANY - 12 && !json_get(copy, "key-5") && json_get(copy, "key-12"));
    OARLOCK_CHECK(json_get(object, "key-5") && json_equal(object, object) && !json_equal(object, copy));
    /* Down to few members, and up again. */
    json *few = json_new_object(mem);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 12; i++) json_set(few, oarlock_text(mem, "%d", i), json_new_int(mem, i));
        for (int i = 11; i > 1; i--) json_set(few, oarlock_text(mem, "%d", i), NULL);
    }
    OARLOCK_CHECK_JSON(few, "{'0': 0, '1': 1}");
}

static void merge_patches_are_those_of_the_rfc(void) {
    static const char *const cases[][3] = {
        {"{'a':'b'}", "{'a':'c'}", "{'a':'c'}"},
        {"{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}"},
        {"{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}"},
        {"{'a':['b']}", "{'a':'c'}", "{'a':'c'}"},
        {"{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d'}}"},
        {"{'a':[1]}", "{'a':[2]}", "{'a':[2]}"},
        {"['a']", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}"},
        {"{'a':1}", "['c']", "['c']"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        OARLOCK_CHECK_JSON(json_merge(mem, json_make(mem, cases[i][0]), json_make(mem, cases[i][1])), cases[i][2]);
}

/* ---- Garbage ---- */

static uint64_t seed = 20;

static uint32_t random_below(uint32_t limit) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % limit;
}

/* Reads bytes that end exactly where their memory ends; what is JSON reads the same again. */
static bool survives(const char *bytes, size_t len) {
    oarlock_mem *own = oarlock_mem_new();
    char *exact = malloc(len ? len : 1);
    memcpy(exact, bytes, len);
    const char *problem = NULL;
    const json *value = json_parse(own, exact, len, &problem);
    free(exact);
    bool well = (value == NULL) == (problem != NULL);
    if (value) {
        size_t printed = 0;
        const char *text = json_print(own, value, &printed);
        const json *again = json_parse(own, text, printed, NULL);
        well &= again && json_equal(value, again) && !strcmp(text, json_print(own, again, NULL));
    }
    oarlock_mem_free(own);
    return well;
}

static const char sample[] =
    "{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\\u00fc\\ud83d\\ude00\",\"labels\":{\"x/y\":\"\xC3\xBC\"},\"n\":[0,-1.5e+3,1E9,true,false,null]},"
    "\"deep\":[[[{\"a\":{\"b\":[]}}]]],\"esc\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}";

enum { ROUNDS = 60000 };

static void garbage_ends_nothing(void) {
    static const char pieces[] = "{}[]\",:\\u0123456789abcdefeE+-. \ntrufalsn'%sj\x80\xC3\xED\xA0\xF4\x00";
    char bytes[sizeof sample + 8];
    bool well = true;
    for (size_t len = 0; len < sizeof sample; len++) well &= survives(sample, len);
    for (int round = 0; round < ROUNDS; round++) {
        size_t len = random_below(64);
        for (size_t i = 0; i < len; i++)
            bytes[i] = round & 1 ? pieces[random_below(sizeof pieces)] : (char)random_below(256);
        well &= survives(bytes, len);
    }
    for (int round = 0; round < ROUNDS; round++) {
        size_t len = sizeof sample - 1;
        memcpy(bytes, sample, len);
        for (uint32_t edits = 1 + random_below(3); edits; edits--) {
            size_t at = random_below((uint32_t)len);
            switch (random_below(4)) {
            case 0: bytes[at] ^= (char)(1 << random_below(8)); break;
            case 1: bytes[at] = pieces[random_below(sizeof pieces)]; break;
            case 2:
                memmove(bytes + at, bytes + at + 1, len - at - 1);
                len--;
                break;
            default:
                memmove(bytes + at + 1, bytes + at, len - at);
                bytes[at] = pieces[random_below(sizeof pieces)];
                len++;
            }
        }
        well &= survives(bytes, len);
    }
    OARLOCK_CHECK(well);
}

int main(void) {
    mem = oarlock_mem_new();
    OARLOCK_RUN(documents_are_printed_as_they_were_read);
    OARLOCK_RUN(what_is_no_json_is_refused_with_its_place);
    OARLOCK_RUN(depth_is_bounded);
    OARLOCK_RUN(order_and_spelling_do_not_count);
    OARLOCK_RUN(absent_values_can_be_asked);
    OARLOCK_RUN(numbers_are_read_where_they_fit);
    OARLOCK_RUN(values_are_made_of_text_with_places);
    OARLOCK_RUN(large_objects_find_their_members);
    OARLOCK_RUN(merge_patches_are_those_of_the_rfc);
    OARLOCK_RUN(garbage_ends_nothing);
    oarlock_mem_free(mem);
    return oarlock_test_end();
}
