/* Tests of every form of models, over all entries of the table and all methods that
 * make them: a new form needs no test of its own here. */
#include <math.h>

#include "core/random.h"
#include "infos.h"
#include "model/model.h"
#include "quick.h"
#include "score/scoring.h"
#include "tagged.h"
#include "test.h"

enum { USERS = 30, ITEMS = 40, LISTS = USERS + 2, PATH = 256 };

/* test_path's own strings live only for some calls. */
static void keep_path(const char *name, char path[PATH])
{
    snprintf(path, PATH, "%s", test_path(name));
}

/* ---- a model in each form, by each method ---------------------------------------- */

/* What a test is given: a trained model, its file in a form, and the model that this
 * file opens to. */
typedef struct subject {
    test *t;
    const ease__form *form;
    const ease__method *method;
    const ease_interactions *x;
    ease_model *made, *opened;
    char path[PATH];
} subject;

static void complain(const subject *s)
{
    printf("  form %s, method %s\n", s->form->name, s->method->info.name);
}

static void run_subject(subject *s, void (*run)(subject *s))
{
    ease_error err = {0};

    keep_path("subject.ease", s->path);
    if (!check_status(s->t, train_quickly(s->method, s->x, 2, &s->made), EASE_OK) ||
        !check_status(s->t,
                      ease_model_save(s->made, s->path, s->form->number, NULL, &err),
                      EASE_OK) ||
        !check_status(s->t, ease_model_open(s->path, NULL, &s->opened, &err),
                      EASE_OK)) {
        complain(s);
        printf("  %s\n", err.text);
    } else {
        run(s);
    }
    ease_model_free(s->made);
    ease_model_free(s->opened);
}

static void for_every_form(test *t, void (*run)(subject *s))
{
    ease_interactions *x = quick_data(USERS, ITEMS);

    for (int f = 0; ease__forms[f]; f++) {
        int methods = 0;

        for (int m = 0; ease__methods[m]; m++)
            if (has_form(ease__methods[m], ease__forms[f])) {
                subject s = {
                    .t = t, .form = ease__forms[f], .method = ease__methods[m], .x = x};

                run_subject(&s, run);
                methods++;
            }
        check(t, methods > 0); /* or nobody could have such a model */
    }
    ease_interactions_free(x);
}

/* ---- the table ------------------------------------------------------------------- */

static void check_rules(test *t, const ease__form *f)
{
    static const ease__section_rule common[] = {EASE__COMMON_SECTIONS, {0}};

    for (int i = 0; common[i].name; i++)
        check(t, ease__rule_of(f->sections, common[i].name) != NULL);
    for (int i = 0; f->sections[i].name; i++) {
        check(t, strlen(f->sections[i].name) <= 14);
        check(t, ease__rule_of(f->sections, f->sections[i].name) == &f->sections[i]);
    }
}

static void entries_are_complete(test *t)
{
    for (int i = 0; ease__forms[i]; i++) {
        const ease__form *f = ease__forms[i];
        const char *name = f->name ? f->name : "";

        check(t, name[0]);
        check(t, strlen(name) < sizeof(((ease__model_params *)0)->form_name));
        check(t, ease__form_numbered((int32_t)f->number) == f); /* no other has it */
        check(t, f->trained && f->trained->trained == f->trained);
        check(t, f->trained == f || f->on_request);
        check(t, f->held && f->write && f->open);
        check(t, f->store && f->store->read && f->store->take && f->store->need &&
                     f->store->expect && f->store->grain > 0);
        check(t, f->scoring && f->scoring->score && f->scoring->many);
        check_int(t, f->scoring->scratch_new != NULL, f->scoring->scratch_free != NULL);
        check_int(t, f->known_users, f->scoring->check_users != NULL);
        check_rules(t, f);
        for (int k = 0; k < i; k++)
            check(t, strcmp(name, ease__forms[k]->name) != 0);
    }
    check(t, ease__form_numbered(-1) == NULL && ease__form_numbered(99) == NULL);
}

/* Numbers are in files that users have. */
static void numbers_in_files_stay(test *t)
{
    static const char *const names[] = {"f32",    "f16",    "packed", "none",
                                        "sparse", "latent", "known"};

    for (int32_t i = 0; i < (int32_t)(sizeof(names) / sizeof(names[0])); i++)
        if (check(t, ease__form_numbered(i) != NULL))
            check_text(t, ease__form_numbered(i)->name, names[i]);
}

/* ---- lists ----------------------------------------------------------------------- */

/* Histories of all users, an empty one and one with weights. */
typedef struct histories {
    ease_row row[LISTS];
    int64_t user[LISTS];
    float weights[ITEMS];
} histories;

static void fill_histories(const ease_interactions *x, histories *h)
{
    for (int32_t i = 0; i < ITEMS; i++)
        h->weights[i] = i % 3 ? 0.25f * (float)i : -1.0f;
    for (int64_t u = 0; u < LISTS; u++) {
        h->row[u] = ease_interactions_row(x, u % USERS);
        h->user[u] = (7 * u) % USERS;
    }
    h->row[USERS] = (ease_row){0};
    h->row[USERS + 1].weights = h->weights;
}

typedef struct lists {
    ease_rec recs[LISTS * ITEMS];
    int32_t counts[LISTS];
} lists;

static ease_status list_many(const ease_model *m, const ease_interactions *x,
                             ease_recommend_options o, lists *out)
{
    histories h;

    fill_histories(x, &h);
    memset(out, 0, sizeof(*out));
    o.users = h.user;
    return ease_recommend_many(m, h.row, LISTS, &o, out->recs, out->counts, NULL);
}

static ease_status list_each(const ease_model *m, const ease_interactions *x,
                             ease_recommend_options o, lists *out)
{
    ease_scorer *s = NULL;
    ease_status status = ease_scorer_new(m, &s, NULL);
    histories h;

    fill_histories(x, &h);
    memset(out, 0, sizeof(*out));
    for (int u = 0; !status && u < LISTS; u++) {
        o.users = &h.user[u];
        status = ease_recommend(s, h.row[u], &o, out->recs + (size_t)u * (size_t)o.k,
                                &out->counts[u], NULL);
    }
    ease_scorer_free(s);
    return status;
}

/* What lies past the end of a list means nothing. */
static bool same_lists(const lists *a, const lists *b, int32_t k)
{
    for (size_t u = 0; u < LISTS; u++)
        if (a->counts[u] != b->counts[u] ||
            memcmp(a->recs + u * (size_t)k, b->recs + u * (size_t)k,
                   (size_t)a->counts[u] * sizeof(*a->recs)) != 0)
            return false;
    return true;
}

static ease_recommend_options all_items(void)
{
    ease_recommend_options o;

    ease_recommend_options_init(&o);
    o.k = ITEMS;
    o.keep_seen = 1;
    return o;
}

static void compare_lists(subject *s)
{
    static const ease_cap caps[] = {{"author", 1}, {"genre", 4}};
    uint8_t allowed[ITEMS];

    give_tags(s->made, 1);
    give_tags(s->opened, 1);
    for (int i = 0; i < ITEMS; i++)
        allowed[i] = i % 5 != 1;
    for (int way = 0; way < 64; way++) {
        const ease_model *m = way & 8 ? s->opened : s->made;
        ease_recommend_options o;
        lists one, many;

        ease_recommend_options_init(&o);
        o.k = way & 1 ? 5 : ITEMS;
        o.keep_seen = way & 2;
        o.allowed = way & 4 ? allowed : NULL;
        o.popularity_power = way & 16 ? -0.7 : 0;
        o.caps = caps;
        o.cap_count = way & 32 ? 2 : 0;
        check_status(s->t, list_each(m, s->x, o, &one), EASE_OK);
        for (o.threads = 1; o.threads <= 3; o.threads += 2) {
            check_status(s->t, list_many(m, s->x, o, &many), EASE_OK);
            if (!check(s->t, same_lists(&one, &many, o.k)))
                complain(s);
        }
    }
}

static void one_list_and_many_lists_agree_to_the_bit(test *t)
{
    for_every_form(t, compare_lists);
}

/* Lists with factors and caps are those of sorting all scores, which are the library's
 * without. */
static void compare_with_twin(subject *s)
{
    static const ease_cap caps[] = {{"author", 2}, {"genre", 5}};
    ease_recommend_options o = all_items();
    lists plain, got;
    histories h;

    give_tags(s->opened, 2);
    fill_histories(s->x, &h);
    check_status(s->t, list_many(s->opened, s->x, o, &plain), EASE_OK);
    o.keep_seen = 0;
    o.caps = caps;
    for (int way = 0; way < 6; way++) {
        o.k = way & 1 ? 4 : ITEMS;
        o.popularity_power = way < 2 ? 0 : way < 4 ? -1.5 : 2;
        o.cap_count = way % 3;
        check_status(s->t, list_many(s->opened, s->x, o, &got), EASE_OK);
        for (size_t u = 0; u < LISTS; u++) {
            ease_rec all[ITEMS], want[ITEMS];
            int32_t count;

            memcpy(all, plain.recs + u * ITEMS, sizeof(all));
            count = tagged_twin(s->opened, all, plain.counts[u], h.row[u], &o, want);
            check_int(s->t, got.counts[u], count);
            if (!check(s->t, memcmp(got.recs + u * (size_t)o.k, want,
                                    (size_t)count * sizeof(*want)) == 0))
                complain(s);
        }
    }
}

static void factors_and_caps_give_the_lists_of_sorting_all_items(test *t)
{
    for_every_form(t, compare_with_twin);
}

/* ---- files ----------------------------------------------------------------------- */

static void save_again(subject *s)
{
    ease_recommend_options o = all_items();
    lists made, opened, again;
    char path[PATH];
    ease_model *back = NULL;
    size_t bytes = 0, was_bytes = 0;
    char *a, *b;

    keep_path("again.ease", path);
    check_status(s->t, ease_model_save(s->opened, path, s->form->number, NULL, NULL),
                 EASE_OK);
    if (!check_status(s->t, ease_model_open(path, NULL, &back, NULL), EASE_OK))
        return;
    check_status(s->t, list_many(s->made, s->x, o, &made), EASE_OK);
    check_status(s->t, list_many(s->opened, s->x, o, &opened), EASE_OK);
    check_status(s->t, list_many(back, s->x, o, &again), EASE_OK);
    check(s->t, same_lists(&opened, &again, o.k));
    if (!s->form->store->halves && !check(s->t, same_lists(&made, &opened, o.k)))
        complain(s);
    check_text(s->t, model_info(s->opened).method, s->method->info.name);
    check_int(s->t, model_info(s->opened).storage, s->form->number);
    ease_model_free(back);
    a = test_read(path, &bytes);
    b = test_read(s->path, &was_bytes);
    check(s->t, bytes == was_bytes && memcmp(a, b, bytes) == 0);
    free(a);
    free(b);
}

static void saved_and_opened_models_have_the_same_scores(test *t)
{
    for_every_form(t, save_again);
}

static void flip(const char *path, size_t at, unsigned char bits)
{
    FILE *f = fopen(path, "r+b");
    int c;

    if (!f || fseek(f, (long)at, SEEK_SET) != 0 || (c = fgetc(f)) == EOF ||
        fseek(f, (long)at, SEEK_SET) != 0 || fputc(c ^ bits, f) == EOF ||
        fclose(f) != 0)
        abort();
}

static void flip_bits(subject *s)
{
    ease__disk_header h = read_header(s->path);
    ease__random r;

    ease__random_seed(&r, 4, 0);
    for (uint32_t k = 0; k < h.sections; k++)
        for (int i = 0; i < 10 && h.section[k].bytes; i++) {
            size_t at = h.section[k].offset +
                        ease__random_below(&r, (uint32_t)h.section[k].bytes);
            unsigned char bits = (unsigned char)(1u << ease__random_below(&r, 8));
            ease_model *m = NULL;
            ease_error err = {0};

            flip(s->path, at, bits);
            if (!check_status(s->t, ease_model_open(s->path, NULL, &m, &err),
                              EASE_E_FORMAT))
                complain(s);
            check_contains(s->t, err.text, h.section[k].name);
            check_status(s->t, ease_file_verify(s->path, NULL, NULL), EASE_E_FORMAT);
            ease_model_free(m);
            flip(s->path, at, bits);
        }
}

static void a_flipped_bit_in_any_section_is_found(test *t)
{
    printf("  seed 4\n");
    for_every_form(t, flip_bits);
}

/* Every section that the table names is there only if the form wrote it, and every one
 * that it wrote is named. */
static void name_sections(subject *s)
{
    ease__disk_header h = read_header(s->path);

    for (uint32_t k = 0; k < h.sections; k++) {
        const char *name = h.section[k].name;
        const ease__section_rule *rule = ease__rule_of(s->form->sections, name);

        if (strchr(name, '#'))
            continue;
        if (!check(s->t, rule != NULL))
            printf("  form %s, section %s\n", s->form->name, name);
        check(s->t, rule && (!ease__is_large(&h.section[k]) || rule->may_be_large));
    }
}

static void the_table_names_all_sections(test *t)
{
    for_every_form(t, name_sections);
}

/* ---- files of later versions ----------------------------------------------------- */

static void check_opens_the_same(subject *s, const char *path)
{
    ease_recommend_options o = all_items();
    ease_error err = {0};
    ease_model *m = NULL;
    lists was, is;

    if (!check_status(s->t, ease_model_open(path, NULL, &m, &err), EASE_OK)) {
        complain(s);
        printf("  %s\n", err.text);
        return;
    }
    check_status(s->t, list_many(s->opened, s->x, o, &was), EASE_OK);
    check_status(s->t, list_many(m, s->x, o, &is), EASE_OK);
    check(s->t, same_lists(&was, &is, o.k));
    ease_model_free(m);
}

static void check_refused(subject *s, const char *path, const char *text)
{
    ease_error err = {0};
    ease_model *m = NULL;

    if (!check_status(s->t, ease_model_open(path, NULL, &m, &err), EASE_E_VERSION))
        complain(s);
    check_contains(s->t, err.text, "made by a newer ease");
    check_contains(s->t, err.text, text);
    ease_model_free(m);
}

static void add_sections(subject *s)
{
    static const char data[] = "what this version does not know";
    section_change future = {.name = "future", .data = data, .bytes = sizeof(data)};
    char path[PATH];

    keep_path("future.ease", path);
    copy_changed(s->path, future, path);
    check_opens_the_same(s, path);
    future.flags = EASE__LARGE;
    copy_changed(s->path, future, path);
    check_opens_the_same(s, path);
    future.flags = 8; /* a flag that is not known either */
    copy_changed(s->path, future, path);
    check_opens_the_same(s, path);
    future.flags = EASE__CRITICAL;
    copy_changed(s->path, future, path);
    check_refused(s, path, "it needs section 'future'");
    future.flags = EASE__CRITICAL | EASE__LARGE;
    copy_changed(s->path, future, path);
    check_refused(s, path, "it needs section 'future'");
}

static void unknown_sections_are_ignored_unless_critical(test *t)
{
    for_every_form(t, add_sections);
}

static void change_params(subject *s)
{
    struct {
        ease__model_params known;
        char later[40];
    } p;
    section_change change = {.name = "params", .data = &p, .bytes = sizeof(p)};
    size_t bytes = 0;
    char *file = test_read(s->path, &bytes), path[PATH];
    ease__disk_header h = read_header(s->path);

    keep_path("future.ease", path);
    check_text(s->t, h.section[0].name, "params");
    memcpy(&p.known, file + h.section[0].offset, sizeof(p.known));
    memset(p.later, 7, sizeof(p.later));
    copy_changed(s->path, change, path);
    check_opens_the_same(s, path);
    for (p.known.lambda = 0; p.known.lambda < 10; p.known.lambda += 5) {
        copy_changed(s->path, change, path); /* what a method may be given later */
        check_opens_the_same(s, path);
    }
    p.known.method = 4711;
    snprintf(p.known.method_name, sizeof(p.known.method_name), "edlae");
    copy_changed(s->path, change, path);
    check_refused(s, path, "method edlae");
    snprintf(p.known.method_name, sizeof(p.known.method_name), "\x1b[31m");
    copy_changed(s->path, change, path);
    check_refused(s, path, "method number 4711");
    p.known.storage = 77;
    snprintf(p.known.form_name, sizeof(p.known.form_name), "blocks");
    copy_changed(s->path, change, path);
    check_refused(s, path, "form blocks");
    free(file);
}

static void parameters_may_grow_and_unknown_ones_are_newer(test *t)
{
    for_every_form(t, change_params);
}

static void change_flags(subject *s)
{
    size_t bytes = 0;
    char *file = test_read(s->path, &bytes), path[PATH];
    ease__disk_header h = read_header(s->path);

    keep_path("future.ease", path);
    for (uint32_t k = 0; k < h.sections; k++) {
        section_change change = {.name = h.section[k].name,
                                 .data = file + h.section[k].offset,
                                 .bytes = (size_t)h.section[k].bytes,
                                 .flags = h.section[k].flags | 8};

        if (strchr(change.name, '#') || strcmp(change.name, "params") == 0)
            continue;
        copy_changed(s->path, change, path);
        check_refused(s, path, change.name);
        change.flags = h.section[k].flags | EASE__CRITICAL; /* it is known */
        copy_changed(s->path, change, path);
        check_opens_the_same(s, path);
    }
    free(file);
}

static void sections_that_are_read_otherwise_are_newer(test *t)
{
    for_every_form(t, change_flags);
}

/* ---- explain, similar ------------------------------------------------------------ */

static float score_of(const lists *l, int u, int32_t item)
{
    for (int32_t i = 0; i < l->counts[u]; i++)
        if (l->recs[(size_t)u * ITEMS + (size_t)i].item == item)
            return l->recs[(size_t)u * ITEMS + (size_t)i].score;
    return NAN;
}

/* True if the call was refused as it should be. */
static bool says_why_not(subject *s, ease_status status, const ease_error *err)
{
    if (!check_status(s->t, status, EASE_E_ARG))
        complain(s);
    return check_contains(s->t, err->text, s->method->info.name);
}

static void explain_all(subject *s)
{
    ease_scorer *scorer = NULL;
    histories h;
    lists l;

    fill_histories(s->x, &h);
    check_status(s->t, list_each(s->opened, s->x, all_items(), &l), EASE_OK);
    check_status(s->t, ease_scorer_new(s->opened, &scorer, NULL), EASE_OK);
    for (int u = 0; u < LISTS; u++) {
        ease_rec reasons[ITEMS];
        float base = 0, score = 0, sum;
        int32_t item = (int32_t)(11 * u % ITEMS);
        ease_error err = {0};
        ease_status status = ease_explain(scorer, h.row[u], item, reasons, &base,
                                          &score, &err);

        if (!s->form->scoring->explain) {
            says_why_not(s, status, &err);
            continue;
        }
        check_status(s->t, status, EASE_OK);
        sum = base;
        for (int32_t i = 0; i < h.row[u].count; i++)
            sum += reasons[i].score;
        check(s->t, sum == score);
        /* Those without a history have the list of what is popular. */
        if (h.row[u].count > 0 && !check(s->t, score == score_of(&l, u, item)))
            complain(s);
    }
    ease_scorer_free(scorer);
}

static void explanations_add_up_to_the_score_or_are_refused(test *t)
{
    for_every_form(t, explain_all);
}

static void find_similar(subject *s)
{
    ease_recommend_options o = all_items();
    ease_scorer *scorer = NULL;

    check_status(s->t, ease_scorer_new(s->opened, &scorer, NULL), EASE_OK);
    for (int32_t item = 0; item < ITEMS; item++) {
        ease_rec recs[ITEMS];
        int32_t count = 0;
        ease_error err = {0};
        ease_status status = ease_similar(scorer, item, &o, recs, &count, &err);

        if (!s->form->scoring->similar) {
            says_why_not(s, status, &err);
            continue;
        }
        check_status(s->t, status, EASE_OK);
        check_int(s->t, count, ITEMS - 1);
        for (int32_t i = 0; i < count; i++)
            check(s->t, recs[i].item != item && isfinite(recs[i].score) &&
                            (i == 0 || recs[i].score <= recs[i - 1].score));
    }
    ease_scorer_free(scorer);
}

static void similar_items_are_ranked_or_the_reason_is_told(test *t)
{
    for_every_form(t, find_similar);
}

/* Counts the weights off the diagonal one by one. */
static void check_summary(subject *s, const ease_weight_summary *w)
{
    double count = ITEMS * (ITEMS - 1), negative = 0, zero = 0, sum = 0;
    float smallest = INFINITY, largest = -INFINITY, row[ITEMS];
    ease_weight_histogram h = {.size = sizeof(h)};
    int64_t counted;

    for (int32_t i = 0; i < ITEMS; i++) {
        check_status(s->t, ease_model_row(s->opened, i, row, NULL), EASE_OK);
        for (int32_t j = 0; j < ITEMS; j++) {
            if (j == i)
                continue;
            negative += row[j] < 0;
            zero += row[j] == 0;
            sum += (double)row[j];
            smallest = fminf(smallest, row[j]);
            largest = fmaxf(largest, row[j]);
        }
    }
    check_near(s->t, w->negative, negative / count, 0);
    check_near(s->t, w->zero, zero / count, 0);
    check_near(s->t, w->smallest, (double)smallest, 0);
    check_near(s->t, w->largest, (double)largest, 0);
    check_near(s->t, w->mean, sum / count, 1e-13);
    check_status(s->t, ease_model_count_weights(s->opened, &h, NULL, NULL, NULL),
                 EASE_OK);
    check_near(s->t, (double)h.zero, zero, 0);
    counted = h.zero + h.below + h.above;
    for (int b = 0; b < h.bins; b++)
        counted += h.count[b];
    check_near(s->t, (double)counted, count, 0);
}

static void use_weights(subject *s)
{
    const char *path = test_path("weights.npy");
    ease_error err = {0};
    ease_status status = ease_model_export(s->opened, path, 0, NULL, &err);
    ease_weight_summary w = {.size = sizeof(w)};

    if (s->form->store->empty)
        says_why_not(s, status, &err);
    else
        check_status(s->t, status, EASE_OK);
    status = ease_model_summarize_weights(s->opened, &w, NULL, &err);
    if (s->form->store->empty)
        says_why_not(s, status, &err);
    else if (check_status(s->t, status, EASE_OK))
        check_summary(s, &w);
}

static void weights_are_exported_where_there_are_any(test *t)
{
    for_every_form(t, use_weights);
}

/* ---- refusals -------------------------------------------------------------------- */

static void ask_for_nonsense(subject *s)
{
    int32_t falling[2] = {3, 1}, far[1] = {ITEMS};
    ease_row bad[2] = {{.items = falling, .count = 2}, {.items = far, .count = 1}};
    int64_t user = 0, nobody = USERS;
    ease_recommend_options o = all_items();
    ease_rec recs[ITEMS];
    int32_t count = 0;
    ease_scorer *scorer = NULL;
    ease_error err = {0};

    check_status(s->t, ease_scorer_new(s->opened, &scorer, NULL), EASE_OK);
    o.users = &user;
    for (int i = 0; i < 2; i++) {
        check_status(s->t, ease_recommend(scorer, bad[i], &o, recs, &count, NULL),
                     EASE_E_ARG);
        check_status(s->t,
                     ease_recommend_many(s->opened, &bad[i], 1, &o, recs, &count, NULL),
                     EASE_E_ARG);
    }
    bad[0].count = 1;
    o.users = &nobody;
    check_status(s->t, ease_recommend(scorer, bad[0], &o, recs, &count, &err),
                 s->form->known_users ? EASE_E_DATA : EASE_OK);
    o.users = NULL;
    check_status(s->t, ease_recommend(scorer, bad[0], &o, recs, &count, &err),
                 s->form->known_users ? EASE_E_ARG : EASE_OK);
    o.k = 0;
    check_status(s->t, ease_recommend(scorer, bad[0], &o, recs, &count, NULL),
                 EASE_E_ARG);
    ease_scorer_free(scorer);
    for (int f = 0; ease__forms[f]; f++)
        if (ease__forms[f]->trained != s->form->trained) {
            ease_status status = ease_model_save(s->made, test_path("other.ease"),
                                                 ease__forms[f]->number, NULL, &err);

            /* A form that is not chosen stays what it is. */
            check_status(s->t, status, s->form->on_request ? EASE_E_ARG : EASE_OK);
        }
}

static void nonsense_is_refused(test *t)
{
    for_every_form(t, ask_for_nonsense);
}

/* ---- memory ---------------------------------------------------------------------- */

static ease_status use_all(const subject *s, const char *path)
{
    ease_recommend_options o = all_items();
    ease_model *m = NULL;
    ease_scorer *scorer = NULL;
    ease_rec recs[ITEMS];
    int32_t count = 0;
    lists l;
    ease_status status = ease_model_save(s->made, path, s->form->number, NULL, NULL);

    o.threads = 2;
    o.popularity_power = 0.5;
    if (!status)
        status = ease_model_open(path, NULL, &m, NULL);
    if (!status)
        status = list_each(m, s->x, o, &l);
    if (!status)
        status = list_many(m, s->x, o, &l);
    if (!status)
        status = ease_scorer_new(m, &scorer, NULL);
    if (!status && s->form->scoring->similar)
        status = ease_similar(scorer, 1, &o, recs, &count, NULL);
    ease_scorer_free(scorer);
    ease_model_free(m);
    return status;
}

static void fail_allocations(subject *s)
{
    char path[PATH];
    ease_status status;
    int n = 0;

    keep_path("failing.ease", path);
    do {
        alloc_fail_after(n++);
        status = use_all(s, path);
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    if (!check_status(s->t, status, EASE_OK))
        complain(s);
    check(s->t, n > 10);
}

static void every_failed_allocation_is_survived(test *t)
{
    for_every_form(t, fail_allocations);
}

static const test_case cases[] = {
    TEST(entries_are_complete),
    TEST(numbers_in_files_stay),
    TEST(one_list_and_many_lists_agree_to_the_bit),
    TEST(factors_and_caps_give_the_lists_of_sorting_all_items),
    TEST(saved_and_opened_models_have_the_same_scores),
    TEST(a_flipped_bit_in_any_section_is_found),
    TEST(the_table_names_all_sections),
    TEST(unknown_sections_are_ignored_unless_critical),
    TEST(parameters_may_grow_and_unknown_ones_are_newer),
    TEST(sections_that_are_read_otherwise_are_newer),
    TEST(explanations_add_up_to_the_score_or_are_refused),
    TEST(similar_items_are_ranked_or_the_reason_is_told),
    TEST(weights_are_exported_where_there_are_any),
    TEST(nonsense_is_refused),
    TEST(every_failed_allocation_is_survived),
};

TEST_MAIN(cases)
