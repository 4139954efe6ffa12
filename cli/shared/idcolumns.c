#include "idcolumns.h"

#include <stdlib.h>
#include <string.h>

static bool reserve_bytes(id_column *to, size_t more)
{
    size_t capacity = 2 * to->capacity + more + 1024;
    char *grown;

    if (to->capacity - to->used >= more)
        return true;
    grown = realloc(to->bytes, capacity);
    if (!grown)
        return false;
    to->bytes = grown;
    to->capacity = capacity;
    return true;
}

static bool reserve_row(id_column *to)
{
    size_t capacity = 2 * to->row_capacity + 64;
    int64_t *grown;

    if (to->rows + 1 < to->row_capacity)
        return true;
    grown = realloc(to->offsets, capacity * sizeof(*grown));
    if (!grown)
        return false;
    grown[0] = 0;
    to->offsets = grown;
    to->row_capacity = capacity;
    return true;
}

bool id_column_add(id_column *to, const char *id)
{
    size_t length = strlen(id);

    if (!reserve_bytes(to, length) || !reserve_row(to))
        return false;
    memcpy(to->bytes + to->used, id, length);
    to->used += length;
    to->offsets[++to->rows] = (int64_t)to->used;
    return true;
}

ease_id_column id_column_view(const id_column *of)
{
    return (ease_id_column){.bytes = of->bytes, .offsets = of->offsets};
}

void id_column_free(id_column *of)
{
    free(of->bytes);
    free(of->offsets);
    *of = (id_column){0};
}
