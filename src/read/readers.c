/* The table of readers. */
#include "read/readers.h"

#include <string.h>

#define ENTRY(reader) &reader,
const ease__reader *const ease__readers[] = {EASE__READERS(ENTRY) NULL};

const ease__reader *ease__reader_named(const char *name)
{
    for (int i = 0; ease__readers[i]; i++)
        if (strcmp(ease__readers[i]->format.name, name) == 0)
            return ease__readers[i];
    return NULL;
}

const ease_format *ease_format_at(int index)
{
    if (index < 0)
        return NULL;
    for (int i = 0; ease__readers[i]; i++)
        if (i == index)
            return &ease__readers[i]->format;
    return NULL;
}
