#include "holding.h"

#include "idcolumns.h"
#include "results.h"

enum { FEWEST_ITEMS = 5, FEWEST_USERS = 20, MOST_USERS = 10000 };

/* ---- held-out users -------------------------------------------------------------- */

/* Users with enough items to hold some out. */
static int64_t count_users(const ease_interactions *x)
{
    int64_t users = ease_interactions_users(x), count = 0;

    for (int64_t u = 0; u < users; u++)
        count += ease_interactions_row(x, u).count >= FEWEST_ITEMS;
    return count;
}

static int check_divisible(console *c, int64_t users, const ease_method_info *method)
{
    if (!method->known_users && users < FEWEST_USERS)
        return fail(c, EXIT_DATA,
                    "%s is tuned on held-out users, and only %lld users have %d items: "
                    "that takes at least %d; ease train with --set and --lambda trains "
                    "without tuning",
                    method->name, (long long)users, FEWEST_ITEMS, FEWEST_USERS);
    return EXIT_DONE;
}

/* The protocol, and how many users it holds out. */
static ease_split_options options_for(console *c, const ease_method_info *method,
                                      int64_t users)
{
    ease_split_options o;

    ease_split_options_init(&o);
    o.hooks = console_quiet_hooks(c);
    o.protocol = method->known_users ? "random" : "liang18";
    if (!method->known_users)
        o.heldout_users = users / 10 < MOST_USERS ? users / 10 : MOST_USERS;
    return o;
}

static void note_held_out(console *c, const ease_method_info *method,
                          const ease_split_options *o)
{
    char users[NUMBER_CHARS];

    if (method->known_users)
        note(
            c,
            "no split: a fifth of each user's items is held out, drawn at random (ease "
            "split --protocol random keeps such a split)");
    else
        note(c,
             "no split: %s users are held out to choose settings, and as many to "
             "measure the result, drawn at random (ease split --protocol liang18 "
             "--heldout-users %lld keeps such a split)",
             format_count(users, sizeof(users), o->heldout_users),
             (long long)o->heldout_users);
}

int hold_users_out(console *c, const ease_interactions *x,
                   const ease_method_info *method, ease_split_parts *out)
{
    int64_t users = count_users(x);
    ease_split_options o = options_for(c, method, users);
    int code = check_divisible(c, users, method);
    ease_error err;

    if (code)
        return code;
    if (ease_interactions_split(x, &o, out, &err))
        return err.status == EASE_E_DATA
                   ? fail(c, EXIT_DATA,
                          "too little data to hold a part of them out for tuning; ease "
                          "train with --set and --lambda trains without tuning")
                   : fail_with(c, &err);
    phase_end(c, "splitting");
    console_clear(c);
    note_held_out(c, method, &o);
    return EXIT_DONE;
}

/* ---- all data of a split --------------------------------------------------------- */

static bool add_rows(const ease_interactions *x, id_column *users, id_column *items)
{
    int64_t count = x ? ease_interactions_users(x) : 0;

    for (int64_t u = 0; u < count; u++) {
        ease_row row = ease_interactions_row(x, u);

        for (int32_t i = 0; i < row.count; i++)
            if (!id_column_add(users, ease_interactions_user_id(x, u)) ||
                !id_column_add(items, ease_interactions_item_id(x, row.items[i])))
                return false;
    }
    return true;
}

int join_split(console *c, const ease_split_parts *parts, ease_interactions **out)
{
    const ease_interactions *const all[] = {parts->train, parts->validation_input,
                                            parts->validation_target, parts->test_input,
                                            parts->test_target};
    id_column users = {0}, items = {0};
    ease_id_column views[2];
    ease_read_options o;
    ease_error err;
    bool added = true;
    int code = EXIT_DONE;

    for (size_t i = 0; added && i < sizeof(all) / sizeof(all[0]); i++)
        added = add_rows(all[i], &users, &items);
    views[0] = id_column_view(&users);
    views[1] = id_column_view(&items);
    ease_read_options_init(&o); /* of pairs in several parts, one is kept */
    o.hooks = console_quiet_hooks(c);
    if (!added)
        code = fail_no_memory(c);
    else if (ease_interactions_from_table((int64_t)users.rows, &views[0], &views[1],
                                          NULL, &o, out, &err))
        code = fail_with(c, &err);
    id_column_free(&users);
    id_column_free(&items);
    return code;
}
