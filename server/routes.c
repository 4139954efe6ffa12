#include <string.h>

#include "page.h"
#include "service.h"

static bool always(const request *r)
{
    (void)r;
    return true;
}

const http_route service_routes[] = {
    {"GET", "/", .open = true, .answer = answer_page},
    {"GET", "/openapi.json", .open = true, .answer = answer_openapi},
    {"POST", "/v1/recommend", .answer = answer_recommend, .waits = recommend_waits},
    {"POST", "/v1/explain", .answer = answer_explain, .waits = always},
    {"GET", "/v1/items", .answer = answer_search},
    {"GET", "/v1/items/{id}", .answer = answer_item},
    {"GET", "/v1/items/{id}/similar", .answer = answer_similar},
    {"GET", "/v1/model", .answer = answer_model},
    {"POST", "/v1/feedback", .answer = answer_feedback, .waits = always},
    {"POST", "/v1/reload", .answer = answer_reload, .waits = always},
    {"GET", "/healthz", .open = true, .answer = answer_alive},
    {"GET", "/readyz", .open = true, .answer = answer_ready},
    {"GET", "/metrics", .answer = answer_metrics},
    {.method = NULL}};

/* True if the path of a route, segment by segment, is that of the target. */
static bool fits(const char *path, const target *t)
{
    for (int i = 0; i < t->segments; i++) {
        size_t length = strcspn(++path, "/");
        const char *segment = t->segment[i];

        if (path[0] == '{'
                ? !*segment
                : strlen(segment) != length || memcmp(path, segment, length) != 0)
            return false;
        path += length;
        if ((*path == '/') != (i + 1 < t->segments))
            return false;
    }
    return true;
}

/* The page's files are answered by the route of the page. */
static bool is_page(const target *t)
{
    return t->segments == 1 && page_find(t->segment[0]) != NULL;
}

int service_find(const target *t, const char *method, const char **allow, problem *p)
{
    const char *other = NULL;

    for (int i = 0; service_routes[i].method; i++) {
        const http_route *route = &service_routes[i];

        if (!fits(route->path, t) && !(i == 0 && is_page(t)))
            continue;
        if (strcmp(route->method, method) == 0)
            return i;
        other = route->method;
    }
    if (!other) {
        problem_note(p, PROBLEM_not_found,
                     "there is nothing at this address: see /openapi.json");
        return -1;
    }
    *allow = strcmp(other, "GET") == 0 ? "GET, HEAD" : other;
    problem_note(p, PROBLEM_method_not_allowed, "this address answers %s only", *allow);
    return -1;
}
