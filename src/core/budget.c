#include "core/budget.h"

size_t ease__memory_limit(size_t given)
{
    size_t available;

    if (given)
        return given;
    available = ease_memory_available();
    return available ? available - available / 32 : SIZE_MAX;
}

void ease__budget_start(ease__budget *b, size_t limit)
{
    b->limit = ease__memory_limit(limit);
    atomic_init(&b->used, 0);
    atomic_init(&b->needed, 0);
}

static bool refuse(ease__budget *b, size_t needed)
{
    atomic_store(&b->needed, needed);
    return false;
}

bool ease__budget_take(ease__budget *b, size_t bytes)
{
    size_t used = atomic_load(&b->used), wanted;

    do {
        wanted = ease__size_add(used, bytes);
        if (wanted > b->limit || wanted == SIZE_MAX)
            return refuse(b, wanted);
    } while (!atomic_compare_exchange_weak(&b->used, &used, wanted));
    return true;
}

void ease__budget_give(ease__budget *b, size_t bytes)
{
    atomic_fetch_sub(&b->used, bytes);
}

bool ease__budget_allows(ease__budget *b, size_t bytes)
{
    size_t wanted = ease__size_add(atomic_load(&b->used), bytes);

    return wanted <= b->limit || refuse(b, wanted);
}

void *ease__budget_resize(ease__budget *b, void *p, size_t old, size_t bytes)
{
    void *grown;

    if (!ease__budget_take(b, bytes))
        return NULL;
    grown = ease__realloc_array(p, bytes, 1);
    ease__budget_give(b, grown ? old : bytes);
    return grown;
}

ease_status ease__budget_fail(const ease__budget *b, const char *name, ease_error *err)
{
    char needed[EASE__SIZE_CHARS], limit[EASE__SIZE_CHARS];
    size_t bytes = atomic_load(&b->needed);

    if (!bytes)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", name);
    return ease__fail(err, EASE_E_MEMORY_LIMIT,
                      "%s: reading needs more than %s; the limit is %s", name,
                      ease__size_text(bytes, needed), ease__size_text(b->limit, limit));
}
