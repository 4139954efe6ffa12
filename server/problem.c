#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

bool problem_note(problem *p, problem_code code, const char *fmt, ...)
{
    va_list args;

    if (!p || p->code)
        return false;
    p->code = code;
    va_start(args, fmt);
    vsnprintf(p->text, sizeof(p->text), fmt, args);
    va_end(args);
    return false;
}

static problem_code code_of(ease_status status)
{
    switch (status) {
    case EASE_E_ARG:
    case EASE_E_DATA:
        return PROBLEM_bad_value;
    case EASE_E_NOMEM:
    case EASE_E_MEMORY_LIMIT:
        return PROBLEM_busy;
    default:
        return PROBLEM_internal;
    }
}

bool problem_note_error(problem *p, const ease_error *err)
{
    return problem_note(p, code_of(err->status), "%s", err->text);
}

bool problem_note_memory(problem *p)
{
    return problem_note(p, PROBLEM_busy,
                        "the server is out of memory: try again later");
}

int problem_status(problem_code code)
{
    static const int statuses[] = {200,
#define X(name, status) status,
                                   PROBLEMS(X)
#undef X
    };

    return statuses[code];
}

const char *problem_name(problem_code code)
{
    static const char *const names[] = {"none",
#define X(name, status) #name,
                                        PROBLEMS(X)
#undef X
    };

    return names[code];
}
