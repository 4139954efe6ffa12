#include "service.h"

#include <string.h>

int service_first_reloaded(const service *s)
{
    return s->live != NULL;
}

snapshot *service_snapshot(service *s, const char *model, problem *p)
{
    for (int i = 0; i < s->station_count; i++)
        if (!model || strcmp(s->stations[i].name, model) == 0)
            return station_current(&s->stations[i]);
    problem_note(p, PROBLEM_unknown_model, "there is no model \"%.60s\": %s", model,
                 s->station_count > 1 ? "name \"main\" or \"compare\""
                                      : "this server has only \"main\"");
    return NULL;
}
