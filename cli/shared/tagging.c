#include "tagging.h"

#include <math.h>

#include "files.h"

#define AT(member) .at = offsetof(tagging_args, member)

const option tagging_options[] = {
    {.name = "tags",
     .type = OPTION_PATH,
     AT(tags),
     .value = "FILE",
     .help = "a table of items and tags, such as genres or authors, which the model "
             "keeps. Models that are trained from X'X also learn from them (CEASE): "
             "items that only have tags can then be recommended"},
    {.name = "tag-weight",
     .type = OPTION_REAL,
     AT(weight),
     .value = "A",
     .help = "how much tags count beside users: A^2 T'T is added to X'X (default 1; 0: "
             "keep tags only)"},
    {.name = "tag-columns",
     .type = OPTION_TEXT,
     AT(columns),
     .value = "ITEM,TAG[,WEIGHT]",
     .help = "the columns of FILE, by name or by number from 1; by default they are "
             "recognized"},
    {.name = "tag-split",
     .type = OPTION_TEXT,
     AT(split),
     .value = "SEP",
     .help = "the separator of several tags in one field, such as | (default: a field "
             "is one tag)"},
    {.name = "tag-separator",
     .type = OPTION_TEXT,
     AT(separator),
     .value = "SEP",
     .help = "the separator of columns: , or :: or tab or space or another text"},
    {.name = "tag-kind",
     .type = OPTION_TEXT,
     AT(kind),
     .value = "KIND",
     .help = "the kind of the tags, as in genre=Comedy (default: the name of the "
             "column, or tag)"},
    OPTIONS_END};

/* An option that needs --tags; NULL: none was given. */
static const char *dependent_option(const tagging_args *a)
{
    return a->columns          ? "--tag-columns"
           : a->split          ? "--tag-split"
           : a->separator      ? "--tag-separator"
           : a->kind           ? "--tag-kind"
           : !isnan(a->weight) ? "--tag-weight"
                               : NULL;
}

int check_tagging(console *c, const verb *v, const tagging_args *a,
                  const ease_method_info *method)
{
    const char *dependent = dependent_option(a);

    if (!a->tags && dependent)
        return usage_error(c, v, "%s needs --tags FILE", dependent);
    if (!isnan(a->weight) && a->weight < 0)
        return usage_error(c, v, "--tag-weight: at least 0, not %g", a->weight);
    if (!method)
        return EXIT_DONE;
    if (method->needs_tags && !a->tags)
        return usage_error(c, v, "%s needs --tags FILE", method->name);
    if (!isnan(a->weight) && (!method->from_gram || method->needs_tags))
        return usage_error(c, v, "%s takes no --tag-weight", method->name);
    return EXIT_DONE;
}

double tag_weight_of(const tagging_args *a)
{
    return isnan(a->weight) ? 1 : a->weight;
}

int read_tags(console *c, const tagging_args *a, size_t memory_limit, ease_tags **out)
{
    char tags[NUMBER_CHARS], items[NUMBER_CHARS];
    ease_tags_info info = {.size = sizeof(info)};
    ease_tag_options o;
    ease_error err;

    if (!a->tags)
        return EXIT_DONE;
    ease_tag_options_init(&o);
    o.columns = a->columns;
    o.separator = separator_named(a->separator);
    o.split = a->split;
    o.kind = a->kind;
    o.memory_limit = memory_limit;
    o.hooks = console_hooks(c);
    o.columns_option = "--tag-columns ";
    if (ease_tags_read(a->tags, &o, out, &err))
        return fail_with(c, &err);
    ease_tags_describe(*out, &info);
    note(c, "%s: %s tag%s of %s item%s", a->tags,
         format_count(tags, sizeof(tags), info.tags), info.tags == 1 ? "" : "s",
         format_count(items, sizeof(items), info.items), info.items == 1 ? "" : "s");
    return EXIT_DONE;
}
