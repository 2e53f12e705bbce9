/* Checks, counted. */
#include "world.h"
#include <stdio.h>
#include <string.h>

static unsigned failed_checks, failed_tests, tests;

static bool said(bool holds, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));

static bool said(bool holds, const char *file, int line, const char *format, ...) {
    if (holds) return true;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    failed_checks++;
    return false;
}

bool oarlock_check(bool condition, const char *file, int line, const char *text) {
    return said(condition, file, line, "does not hold: %s", text);
}

bool oarlock_check_text(const char *found, const char *expected, const char *file, int line) {
    bool same = found && expected ? !strcmp(found, expected) : found == expected;
    return said(same, file, line, "\n  found    %s\n  expected %s", found ? found : "NULL", expected ? expected : "NULL");
}

bool oarlock_check_json(const char *file, int line, const json *found, const char *expected, ...) {
    oarlock_mem *mem = oarlock_mem_new();
    va_list arguments;
    va_start(arguments, expected);
    const json *wanted = json_vmake(mem, expected, arguments);
    va_end(arguments);
    bool same = json_equal(found, wanted);
    const char *text = found ? json_print(mem, found, NULL) : "absent";
    said(same, file, line, "\n  found    %s\n  expected %s", text ? text : "nested too deeply", json_print(mem, wanted, NULL));
    oarlock_mem_free(mem);
    return same;
}

void oarlock_test_run(const char *name, void (*test)(void)) {
    unsigned before = failed_checks;
    test();
    tests++;
    if (failed_checks == before) return;
    failed_tests++;
    fprintf(stderr, "FAILED %s\n", name);
}

int oarlock_test_end(void) {
    printf("%u tests, %u failed\n", tests, failed_tests);
    return failed_checks ? 1 : 0;
}
