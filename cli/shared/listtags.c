#include "listtags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

/* ---- the form of the options ----------------------------------------------------- */

static int check_tags(console *c, const common_args *common, const char *name,
                      const text_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const char *mark = strchr(l->at[i], '=');

        if (!mark || mark == l->at[i] || !mark[1])
            return usage_error(c, common->verb,
                               "--%s '%.100s': must be KIND=VALUE, such as "
                               "genre=Comedy",
                               name, l->at[i]);
    }
    return EXIT_DONE;
}

/* Splits KIND=N; false if it is none. */
static bool parse_cap(const char *text, size_t *length, int32_t *most)
{
    const char *mark = strchr(text, '=');
    char *end = NULL;
    long number;

    if (!mark || mark == text || mark[1] < '0' || mark[1] > '9')
        return false;
    errno = 0;
    number = strtol(mark + 1, &end, 10);
    *length = (size_t)(mark - text);
    *most = (int32_t)(number > INT32_MAX ? INT32_MAX : number);
    return *end == '\0' && number >= 1;
}

int tag_args_check(console *c, const common_args *common, const tag_args *a)
{
    int code = check_tags(c, common, "only", &a->only);
    size_t length;
    int32_t most;

    if (!code)
        code = check_tags(c, common, "not", &a->except);
    for (size_t i = 0; !code && i < a->at_most.count; i++)
        if (!parse_cap(a->at_most.at[i], &length, &most))
            code = usage_error(c, common->verb,
                               "--at-most '%.100s': must be KIND=N with N of at least "
                               "1, such as author=2",
                               a->at_most.at[i]);
    return code;
}

static int check_has_tags(console *c, const common_args *common, const ease_model *m)
{
    if (ease_model_tags(m))
        return EXIT_DONE;
    return usage_error(c, common->verb,
                       "%s has no tags of items, which --only, --not and --at-most "
                       "need: train it with --tags",
                       common->operands[0]);
}

/* ---- unknown tags and kinds ------------------------------------------------------ */

/* The distinct kinds of tags, each to be freed; NULL: no memory. */
typedef struct kinds {
    char **at;
    size_t count;
} kinds;

static void kinds_free(kinds *k)
{
    for (size_t i = 0; i < k->count; i++)
        free(k->at[i]);
    free(k->at);
}

static bool kinds_have(const kinds *k, const char *name, size_t length)
{
    for (size_t i = 0; i < k->count; i++)
        if (strncmp(k->at[i], name, length) == 0 && !k->at[i][length])
            return true;
    return false;
}

static bool kinds_collect(const ease_model *m, kinds *k)
{
    for (int32_t t = 0; t < ease_model_tags(m); t++) {
        const char *tag = ease_model_tag(m, t);
        size_t length = strcspn(tag, "=");
        char **grown;

        if (kinds_have(k, tag, length))
            continue;
        grown = realloc(k->at, (k->count + 1) * sizeof(*grown));
        if (!grown)
            return false;
        k->at = grown;
        k->at[k->count] = strndup(tag, length);
        if (!k->at[k->count])
            return false;
        k->count++;
    }
    return true;
}

/* Writes "; did you mean a or b?", or else the kinds that there are. */
static void describe_kinds(const kinds *k, const char *word, char *to, size_t size)
{
    nearest near = {.word = word};
    size_t put = 0;

    for (size_t i = 0; i < k->count; i++)
        nearest_offer(&near, k->at[i]);
    nearest_phrase(&near, "", to, size);
    if (near.count)
        return;
    for (size_t i = 0; i < k->count && i < 8 && put < size; i++)
        put += (size_t)snprintf(to + put, size - put, "%s%.40s",
                                i ? ", " : "; its kinds of tags are ", k->at[i]);
}

static int unknown_kind(console *c, const common_args *common, const ease_model *m,
                        const char *kind)
{
    char phrase[400];
    kinds k = {0};
    int code;

    if (kinds_collect(m, &k)) {
        describe_kinds(&k, kind, phrase, sizeof(phrase));
        code = fail(c, EXIT_DATA, "%s: no tags of kind '%.100s'%s", common->operands[0],
                    kind, phrase);
    } else {
        code = fail_no_memory(c);
    }
    kinds_free(&k);
    return code;
}

static int unknown_tag(console *c, const common_args *common, const ease_model *m,
                       const char *tag)
{
    nearest near = {.word = tag};
    char phrase[400], *kind = NULL;
    size_t length = strcspn(tag, "=");
    bool known = false;
    int code;

    for (int32_t t = 0; t < ease_model_tags(m); t++) {
        const char *other = ease_model_tag(m, t);

        known |= strncmp(other, tag, length + 1) == 0;
        nearest_offer(&near, other);
    }
    if (!known && !near.count)
        kind = strndup(tag, length);
    if (kind)
        code = unknown_kind(c, common, m, kind);
    else
        code = fail(c, EXIT_DATA, "%s: no item has the tag '%.100s'%s",
                    common->operands[0], tag,
                    nearest_phrase(&near, "", phrase, sizeof(phrase)));
    free(kind);
    return code;
}

static int check_known(console *c, const common_args *common, const ease_model *m,
                       const text_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (ease_model_find_tag(m, l->at[i]) == EASE_NO_TAG)
            return unknown_tag(c, common, m, l->at[i]);
    return EXIT_DONE;
}

/* ---- filters and caps ------------------------------------------------------------ */

int tags_filter(console *c, const common_args *common, const tag_args *a,
                const ease_model *m, uint8_t **mask)
{
    size_t items = (size_t)ease_model_items(m);
    ease_error err;
    int code;

    if (!a->only.count && !a->except.count)
        return EXIT_DONE;
    code = check_has_tags(c, common, m);
    if (!code)
        code = check_known(c, common, m, &a->only);
    if (!code)
        code = check_known(c, common, m, &a->except);
    if (code)
        return code;
    if (!*mask) {
        *mask = malloc(items + 1);
        if (!*mask)
            return fail_no_memory(c);
        memset(*mask, 1, items);
    }
    if (ease_model_filter(m, a->only.at, (int64_t)a->only.count, a->except.at,
                          (int64_t)a->except.count, *mask, &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

static bool has_kind(const ease_model *m, const char *kind)
{
    size_t length = strlen(kind);

    for (int32_t t = 0; t < ease_model_tags(m); t++) {
        const char *tag = ease_model_tag(m, t);

        if (strncmp(tag, kind, length) == 0 && tag[length] == '=')
            return true;
    }
    return false;
}

static int cap_make(console *c, const common_args *common, const ease_model *m,
                    const char *text, ease_cap *out)
{
    size_t length = 0;

    if (!parse_cap(text, &length, &out->most)) /* see tag_args_check */
        return EXIT_USAGE;
    out->kind = strndup(text, length);
    if (!out->kind)
        return fail_no_memory(c);
    return has_kind(m, out->kind) ? EXIT_DONE : unknown_kind(c, common, m, out->kind);
}

int caps_make(console *c, const common_args *common, const tag_args *a,
              const ease_model *m, ease_cap **out)
{
    size_t count = a->at_most.count;
    ease_cap *caps;
    int code;

    *out = NULL;
    if (!count)
        return EXIT_DONE;
    code = check_has_tags(c, common, m);
    if (code)
        return code;
    caps = calloc(count, sizeof(*caps));
    if (!caps)
        return fail_no_memory(c);
    for (size_t i = 0; !code && i < count; i++)
        code = cap_make(c, common, m, a->at_most.at[i], &caps[i]);
    if (code)
        caps_free(caps, count);
    else
        *out = caps;
    return code;
}

void caps_free(ease_cap *caps, size_t count)
{
    for (size_t i = 0; caps && i < count; i++)
        free((char *)(uintptr_t)caps[i].kind);
    free(caps);
}
