/* The files that are embedded in the program at build time. */
#ifndef EASE_SERVER_PAGE_H
#define EASE_SERVER_PAGE_H

#include <stddef.h>

typedef struct page_file {
    const char *name; /* "index.html"; NULL ends the list */
    const char *type; /* "text/html; charset=utf-8" */
    const char *tag;  /* of its contents, for If-None-Match: "\"...\"" */
    const unsigned char *bytes;
    size_t length;
} page_file;

extern const page_file page_files[]; /* of server/page/, made by server/embed.cmake */
extern const page_file page_openapi; /* server/openapi.json */

/* "" stands for index.html. NULL: there is no such file. */
const page_file *page_find(const char *name);

#endif
