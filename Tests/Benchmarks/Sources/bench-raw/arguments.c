#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

arguments parse_arguments(int argc, char **argv)
{
    arguments result = {.scenario = "", .url = "", .requests = 1, .in_flight = 1, .besides = 1, .expect = -1, .seconds = 1};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value) {
            fprintf(stderr, "%s lacks its value\n", name);
            exit(2);
        } else if (!strcmp(name, "--scenario")) {
            result.scenario = value;
        } else if (!strcmp(name, "--url")) {
            result.url = value;
        } else if (!strcmp(name, "--probe")) {
            result.probe = value;
        } else if (!strcmp(name, "--warmup")) {
            result.warmup = value;
        } else if (!strcmp(name, "--file")) {
            result.file = value;
        } else if (!strcmp(name, "--beside")) {
            result.beside = value;
        } else if (!strcmp(name, "--besides")) {
            result.besides = atol(value);
        } else if (!strcmp(name, "--requests")) {
            result.requests = atol(value);
        } else if (!strcmp(name, "--in-flight")) {
            result.in_flight = atol(value);
        } else if (!strcmp(name, "--expect")) {
            result.expect = atol(value);
        } else if (!strcmp(name, "--buffer")) {
            result.buffer = atol(value);
        } else if (!strcmp(name, "--seconds")) {
            result.seconds = atol(value);
        } else if (!strcmp(name, "--size")) {
            result.size = atol(value);
        } else if (!strcmp(name, "--times")) {
            result.times = !strcmp(value, "yes");
        } else if (!strcmp(name, "--suspend")) {
            result.suspend = !strcmp(value, "yes");
        } else if (strcmp(name, "--style")) { // Only the Swift clients have styles of calling.
            fprintf(stderr, "unknown argument %s\n", name);
            exit(2);
        }
    }
    return result;
}
