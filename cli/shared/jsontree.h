/* A strict reader of JSON (RFC 8259): requests on standard input, histories. */
#ifndef EASE_CLI_SHARED_JSONTREE_H
#define EASE_CLI_SHARED_JSONTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum json_kind {
    TREE_NULL,
    TREE_FALSE,
    TREE_TRUE,
    TREE_NUMBER,
    TREE_STRING,
    TREE_ARRAY,
    TREE_OBJECT
} json_kind;

enum { JSON_DIGITS = 24 };

typedef struct json_value json_value;
struct json_value {
    json_kind kind;
    const char *key;  /* of a member of an object; else NULL */
    json_value *next; /* the next value of the same array or object; NULL: none */
    union {
        char *text; /* TREE_STRING: decoded UTF-8 without NUL */
        struct {
            double value;
            /* The number in decimal digits if it is an integer within int64_t (also
             * written as 3.0 or 3e2, within 2^53); else "". */
            char digits[JSON_DIGITS];
        } number;
        struct {
            json_value *first;
            size_t count;
        } list; /* TREE_ARRAY, TREE_OBJECT */
    } as;
};

typedef struct json_tree {
    json_value *root, *values;
    /* Of text that is not JSON: what is wrong, and the place of the byte, from 1 on. */
    const char *fault;
    size_t at;
} json_tree;

/* Bytes that json_parse allocates for a text. */
size_t json_tree_bytes(const char *text, size_t length);

/* Parses a text of `length` bytes, followed by a NUL. Strings are decoded in place: the
 * text is changed, and must live as long as the tree. Refused are all extensions of
 * JSON, text that is not UTF-8, the character U+0000, numbers beyond the range of a
 * double, integers beyond int64_t, and more than 32 levels; duplicate keys are not, see
 * json_check_members. Returns false with out->fault, or with a fault of NULL if there
 * is not enough memory. Free the tree by json_tree_free in any case. */
bool json_parse(char *text, size_t length, json_tree *out);
void json_tree_free(json_tree *t);

/* Decodes padded base64 in place. False: it is malformed, empty, or has a byte 0. */
bool json_decode_base64(char *text);

#endif
