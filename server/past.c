#include "past.h"

void put_item(json_writer *w, const ease_model *m, int32_t item)
{
    const char *title = ease_model_title(m, item);

    put_id(w, "id", ease_model_item_id(m, item));
    if (title)
        put_text(w, "title", title);
}

/* ---- histories ------------------------------------------------------------------- */

static bool list_unknown(const ease_model *m, const id_list *ids, arena *a, past *out,
                         problem *p)
{
    if (!ease_history_unknown(out->made))
        return true;
    out->unknown = arena_take_array(a, (size_t)ids->count, sizeof(*out->unknown));
    if (!out->unknown)
        return problem_note_memory(p);
    for (int64_t i = 0; i < ids->count; i++)
        if (ease_model_find(m, ids->at[i]) == EASE_NO_ITEM)
            out->unknown[out->unknown_count++] = ids->at[i];
    return true;
}

static bool take_ids(snapshot *of, const id_list *ids, arena *a, past *out, problem *p)
{
    ease_error err;

    if (ease_model_method(of->model)->known_users)
        return problem_note(p, PROBLEM_not_possible,
                            "%s scores only the users that it was trained with: name a "
                            "\"user\", not a \"history\"",
                            of->info.method);
    if (ease_history_new(of->model, ids->at, ids->weights, ids->count, &out->made,
                         &err))
        return problem_note_error(p, &err);
    out->row = ease_history_row(out->made);
    return list_unknown(of->model, ids, a, out, p);
}

static bool unknown_user(problem *p, const char *where)
{
    return problem_note(p, PROBLEM_unknown_user, "the %s has no such user", where);
}

static bool take_known(service *s, snapshot *of, const char *user, past *out,
                       problem *p)
{
    bool found = false;
    ease_error err;

    if (ease_model_method(of->model)->known_users) {
        out->user = ease_model_find_user(of->model, user);
        out->row = ease_model_history(of->model, out->user);
        return out->user != EASE_NO_USER || unknown_user(p, "model");
    }
    if (!s->users)
        return problem_note(
            p, PROBLEM_not_possible,
            "this server knows no users: send a \"history\", or start it "
            "with --users DATA");
    if (users_read(s->users, of->extra, user, &out->copied, &found, &err))
        return problem_note_error(p, &err);
    out->row = users_row(&out->copied);
    return found || unknown_user(p, "data of this server");
}

bool past_take(service *s, snapshot *of, json_t *o, arena *a, past *out, problem *p)
{
    id_list ids = {0};
    const char *user = NULL;

    *out = (past){.user = EASE_NO_USER};
    if (!json_take_ids(o, "history", s->limits.ids, true, a, &ids, p) ||
        !json_take_id(o, "user", a, &user, p))
        return false;
    if (ids.given == (user != NULL))
        return problem_note(p, PROBLEM_bad_value,
                            "either \"history\" or \"user\" is required%s",
                            user ? ", not both" : "");
    return user ? take_known(s, of, user, out, p) : take_ids(of, &ids, a, out, p);
}

void past_free(past *p)
{
    ease_history_free(p->made);
    users_history_free(&p->copied);
}
