/* Damaged and overwritten model files: every call gives the result of the intact file,
 * or an error. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "data.h"
#include "models.h"
#include "test.h"

enum { PATH_BYTES = 256 };

/* test_path's own strings live only for some calls. */
static void keep_path(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s", test_path(name));
}

/* ---- a model of each form, small, or so large that its file is mapped --------- */

static float *random_floats(size_t count, uint64_t seed)
{
    float *x = malloc(count * sizeof(*x));
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (size_t i = 0; x && i < count; i++)
        x[i] = (float)ease__random_unit(&r) - 0.5f;
    return x ? x : (abort(), NULL);
}

static ease_model *dense(bool large)
{
    return random_model(large ? 3000 : 40, 3, false, EASE_GRAM_CORRELATION, false);
}

/* As a member of the closed-form family: with scales of rows, and two norms. */
static ease_model *relaxed(bool large)
{
    ease_model *m = random_model(large ? 3000 : 40, 3, false, EASE_GRAM_COUNTS, false);
    size_t n = (size_t)m->info.items;
    double *own = calloc(3 * n, sizeof(*own));
    ease__model_parts r = {.kind = EASE_GRAM_COUNTS, .relaxation = 0.3, .settings = ""};

    for (size_t i = 0; i < n; i++) {
        own[i] = ease__tiled_at(&m->inverse, (int32_t)i, (int32_t)i);
        own[n + i] = 0.2;
        own[2 * n + i] = 1 + 0.001 * (double)i;
    }
    r.ridge = own + n;
    r.input = r.output = own + 2 * n;
    if (ease__model_rescale(m, &r, own, NULL))
        abort();
    free(own);
    return m;
}

static ease_model *popular(bool large)
{
    ease_interactions *x = random_interactions(20, large ? 3000 : 40, 0.1, false, 3);
    ease_model *m = bare_model("popularity", x);

    m->base = random_floats((size_t)x->items, 4);
    free_interactions(x);
    return m;
}

static ease_model *sparse(bool large)
{
    int32_t n = large ? 3000 : 40, count = large ? 800 : 7;
    ease_interactions *x = random_interactions(20, n, 0.1, false, 3);
    ease_model *m = bare_model("slim", x);
    uint64_t *starts = malloc(((size_t)n + 1) * sizeof(*starts));
    int32_t *columns = malloc((size_t)n * (size_t)count * sizeof(*columns));

    for (int32_t i = 0; i < n; i++) {
        starts[i] = (uint64_t)i * (uint64_t)count;
        for (int32_t k = 0; k < count; k++)
            columns[starts[i] + (uint64_t)k] = 3 * k + (3 * k == i);
    }
    starts[n] = (uint64_t)n * (uint64_t)count;
    m->sparse = (ease__sparse){.starts = starts,
                               .columns = columns,
                               .weights = random_floats((size_t)starts[n], 5)};
    free_interactions(x);
    return m;
}

static ease_model *network(bool large)
{
    int32_t n = large ? 40000 : 40, width = large ? 64 : 4;
    ease_interactions *x = random_interactions(10, n, 0.01, false, 3);
    ease_model *m = bare_model("mult-dae", x);
    size_t count = (size_t)n * (size_t)width;

    m->latent = (ease__latent){
        .shape = {.encoder = EASE__NETWORK, .normalize = 1, .layers = 1},
        .embedding = random_floats(count, 6),
        .dense = random_floats((size_t)width, 7),
        .decoder = random_floats(count, 8)};
    m->latent.shape.width[0] = width;
    m->latent.shape.activation[0] = EASE__TANH;
    free_interactions(x);
    return m;
}

static ease_model *folded(bool large)
{
    int32_t n = large ? 70000 : 40, rank = large ? 64 : 4;
    size_t r = (size_t)rank;
    ease_interactions *x = random_interactions(10, n, 0.01, false, 3);
    ease_model *m = bare_model("wmf", x);
    float *square = calloc(r * r, sizeof(*square));

    for (size_t k = 0; k < r; k++)
        square[k * r + k] = 1;
    m->latent = (ease__latent){.shape = {.encoder = EASE__FOLD_IN, .layers = 1},
                               .dense = square,
                               .decoder = random_floats((size_t)n * r, 8)};
    m->latent.shape.width[0] = rank;
    m->latent.shape.alpha = 1;
    m->latent.shape.lambda = 2;
    free_interactions(x);
    return m;
}

static ease_model *known(bool large)
{
    int32_t n = large ? 3000 : 40;
    ease_interactions *x = random_interactions(n, n, 0.01, false, 3);
    ease_model *m = bare_model("lrec", x);
    double *scores = malloc((size_t)n * sizeof(*scores));
    ease__random r;

    if (ease__known_new(x, &m->known, NULL) != EASE_OK)
        abort();
    ease__random_seed(&r, 9, 0);
    for (int64_t u = 0; u < x->users; u++) {
        for (int32_t j = 0; j < n; j++)
            scores[j] = ease__random_unit(&r);
        ease__known_put(&m->known, u, scores, n);
    }
    free(scores);
    free_interactions(x);
    return m;
}

typedef struct form {
    const char *name;
    ease_model *(*make)(bool large);
    ease_storage storage;
} form;

static const form forms[] = {
    {"f32", dense, EASE_STORE_F32},         {"f16", dense, EASE_STORE_F16},
    {"packed", dense, EASE_STORE_PACKED},   {"none", popular, EASE_STORE_NONE},
    {"sparse", sparse, EASE_STORE_SPARSE},  {"network", network, EASE_STORE_LATENT},
    {"fold-in", folded, EASE_STORE_LATENT}, {"known", known, EASE_STORE_KNOWN},
    {"relaxed", relaxed, EASE_STORE_F16},   {"scaled", relaxed, EASE_STORE_PACKED},
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static void make_file(const form *f, bool large, const char *path)
{
    ease_model *m = f->make(large);

    if (ease_model_save(m, path, f->storage, NULL, NULL) != EASE_OK)
        abort();
    ease_model_free(m);
}

/* ---- every use of a model: its status, and a hash of its result --------------- */

enum { HISTORIES = 60, LENGTH = 3, K = 5 };

typedef struct answer {
    ease_status status;
    uint64_t hash;
} answer;

static answer answer_of(ease_status status, const void *data, size_t bytes)
{
    return (answer){status, status ? 0 : XXH3_64bits(data, bytes)};
}

/* Histories from all over the catalog. */
static void spread(const ease_model *m, int32_t items[][LENGTH], ease_row *rows,
                   int64_t *users)
{
    int32_t n = model_info(m).items;

    for (int32_t h = 0; h < HISTORIES; h++) {
        for (int32_t i = 0; i < LENGTH; i++)
            items[h][i] = (int32_t)((int64_t)(n - LENGTH) * h / HISTORIES) + i;
        rows[h] = (ease_row){.items = items[h], .count = LENGTH};
        users[h] = items[h][0];
    }
}

static answer use_one(const ease_model *m)
{
    int32_t items[HISTORIES][LENGTH], count = 0;
    ease_row rows[HISTORIES];
    int64_t users[HISTORIES];
    ease_recommend_options o;
    ease_scorer *s = NULL;
    ease_rec recs[K] = {0};
    ease_status status = ease_scorer_new(m, &s, NULL);

    spread(m, items, rows, users);
    ease_recommend_options_init(&o);
    o.k = K;
    o.users = &users[HISTORIES / 2];
    if (!status)
        status = ease_recommend(s, rows[HISTORIES / 2], &o, recs, &count, NULL);
    ease_scorer_free(s);
    return answer_of(status, recs, sizeof(recs));
}

static answer use_many(const ease_model *m)
{
    int32_t items[HISTORIES][LENGTH], counts[HISTORIES];
    ease_row rows[HISTORIES];
    int64_t users[HISTORIES];
    ease_recommend_options o;
    ease_rec recs[HISTORIES * K] = {0};
    ease_status status;

    spread(m, items, rows, users);
    ease_recommend_options_init(&o);
    o.k = K;
    o.users = users;
    o.threads = 3;
    status = ease_recommend_many(m, rows, HISTORIES, &o, recs, counts, NULL);
    return answer_of(status, recs, sizeof(recs));
}

static answer use_similar(const ease_model *m)
{
    ease_scorer *s = NULL;
    ease_rec recs[10] = {0};
    int32_t count = 0;
    ease_status status = ease_scorer_new(m, &s, NULL);

    if (!status)
        status = ease_similar(s, 17, NULL, recs, &count, NULL);
    ease_scorer_free(s);
    return answer_of(status, recs, sizeof(recs));
}

static answer use_explain(const ease_model *m)
{
    int32_t items[HISTORIES][LENGTH];
    ease_row rows[HISTORIES];
    int64_t users[HISTORIES];
    ease_rec reasons[LENGTH + 1] = {0};
    float base = 0;
    ease_scorer *s = NULL;
    ease_status status = ease_scorer_new(m, &s, NULL);

    spread(m, items, rows, users);
    if (!status)
        status = ease_explain(s, rows[HISTORIES / 2], 9, reasons, &base,
                              &reasons[LENGTH].score, NULL);
    ease_scorer_free(s);
    return answer_of(status, reasons, sizeof(reasons));
}

static answer use_row(const ease_model *m)
{
    size_t n = (size_t)model_info(m).items;
    float *row = calloc(n, sizeof(*row));
    answer a = answer_of(ease_model_row(m, (int32_t)n / 3, row, NULL), row,
                         n * sizeof(*row));

    free(row);
    return a;
}

static answer of_file(ease_status status, const char *path)
{
    answer a = {.status = status};
    struct stat st;
    FILE *f;
    void *data;

    if (status)
        return a;
    f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st) != 0 || !(data = malloc((size_t)st.st_size + 1)) ||
        fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
        abort();
    a = answer_of(status, data, (size_t)st.st_size);
    free(data);
    fclose(f);
    return a;
}

static answer use_save(const ease_model *m)
{
    const char *path = test_path("saved.ease");

    return of_file(ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), path);
}

static answer use_export(const ease_model *m)
{
    const char *path = test_path("exported.csv");

    return of_file(ease_model_export(m, path, 1, NULL, NULL), path);
}

static answer use_summary(const ease_model *m)
{
    ease_weight_summary s = {.size = sizeof(s)};

    return answer_of(ease_model_summarize_weights(m, &s, NULL, NULL), &s, sizeof(s));
}

static answer use_plot(const ease_model *m)
{
    const char *path = test_path("weights.svg");

    return of_file(ease_plot_weights(m, path, NULL, NULL, NULL), path);
}

static answer use_rows(const ease_model *m)
{
    const float *rows = NULL;
    size_t stride = 0;
    ease_status status = ease_model_rows(m, &rows, &stride, NULL);

    return answer_of(status, rows, rows ? stride * (size_t)model_info(m).items : 0);
}

typedef answer use(const ease_model *m);
static use *const uses[] = {use_one,  use_many, use_similar, use_explain, use_row,
                            use_save, use_rows, use_export,  use_summary, use_plot};
enum { USES = sizeof(uses) / sizeof(uses[0]), QUICK = 5 };

static ease_status open_verifying(const char *path, ease_verify verify,
                                  const ease_hooks *hooks, ease_model **out,
                                  ease_error *err)
{
    ease_open_options o;

    ease_open_options_init(&o);
    o.verify = verify;
    o.hooks = hooks;
    return ease_model_open(path, &o, out, err);
}

static answer open_and_use(const char *path, ease_verify verify, use *what)
{
    ease_model *m = NULL;
    answer a = {.status = open_verifying(path, verify, NULL, &m, NULL)};

    if (!a.status)
        a = what(m);
    ease_model_free(m);
    return a;
}

/* ---- flipped bits ------------------------------------------------------------- */

static void flip(const char *path, size_t at, unsigned char bits)
{
    FILE *f = fopen(path, "r+b");
    int c;

    if (!f || fseek(f, (long)at, SEEK_SET) != 0 || (c = fgetc(f)) == EOF ||
        fseek(f, (long)at, SEEK_SET) != 0 || fputc(c ^ bits, f) == EOF ||
        fclose(f) != 0)
        abort();
}

typedef struct trial {
    test *t;
    const form *form;
    char path[PATH_BYTES];
    answer whole[USES];
    int64_t found[USES];
} trial;

/* Each on a model that was just opened, so that nothing has been verified before. */
static void try_flip(trial *x, const char *section, size_t at, ease__random *r,
                     size_t count)
{
    unsigned char bits = (unsigned char)(1u << ease__random_below(r, 8));

    flip(x->path, at, bits);
    for (size_t u = 0; u < count; u++) {
        answer a = open_and_use(x->path, EASE_VERIFY_USE, uses[u]);
        bool found = a.status == EASE_E_FORMAT;

        x->found[u] += found;
        if (!check(x->t, found || (a.status == x->whole[u].status &&
                                   a.hash == x->whole[u].hash)))
            printf("  %s, section %s, byte %zu, use %zu: %s\n", x->form->name, section,
                   at, u, ease_status_name(a.status));
    }
    flip(x->path, at, bits);
}

static trial begin_trial(test *t, const form *f, bool large)
{
    trial x = {.t = t, .form = f};

    keep_path(f->name, x.path);
    make_file(f, large, x.path);
    for (size_t u = 0; u < USES; u++)
        x.whole[u] = open_and_use(x.path, EASE_VERIFY_USE, uses[u]);
    check_status(t, x.whole[0].status, EASE_OK);
    check_status(t, x.whole[1].status, EASE_OK);
    return x;
}

static void flips_in_small_files_are_found_at_once(test *t)
{
    printf("  seed 1\n");
    for (size_t i = 0; i < FORMS; i++) {
        trial x = begin_trial(t, &forms[i], false);
        ease__disk_header h = read_header(x.path);
        int64_t flips = 0;
        ease__random r;

        ease__random_seed(&r, 1, i);
        for (uint32_t s = 0; s < h.sections; s++)
            for (int k = 0; k < 20 && h.section[s].bytes; k++, flips++)
                try_flip(&x, h.section[s].name,
                         h.section[s].offset +
                             ease__random_below(&r, (uint32_t)h.section[s].bytes),
                         &r, 1);
        check_int(t, x.found[0], flips);
    }
}

/* One in every block; what takes long only in some. */
static void try_blocks(trial *x, const ease__disk_section *s, ease__random *r)
{
    for (size_t from = 0; from < s->bytes; from += EASE__BLOCK) {
        size_t left = (size_t)s->bytes - from,
               size = left < EASE__BLOCK ? left : EASE__BLOCK;
        size_t at = from + ease__random_below(r, (uint32_t)size);

        try_flip(x, s->name, (size_t)s->offset + at, r,
                 from / EASE__BLOCK % 8 == 0 ? USES : QUICK);
    }
}

static void flips_in_large_files_are_found_or_do_not_matter(test *t)
{
    printf("  seed 2\n");
    for (size_t i = 0; i < FORMS; i++) {
        trial x = begin_trial(t, &forms[i], true);
        ease__disk_header h = read_header(x.path);
        ease__random r;

        ease__random_seed(&r, 2, i);
        for (uint32_t s = 0; s < h.sections; s++)
            if (h.section[s].bytes)
                try_blocks(&x, &h.section[s], &r);
        for (size_t u = 0; u < USES; u++)
            check(t, x.found[u] > 0);
    }
}

static void all_is_verified_at_opening_or_nothing_is(test *t)
{
    trial x = begin_trial(t, &forms[1], true);
    ease__disk_header h = read_header(x.path);
    answer a;

    for (uint32_t s = 0; s < h.sections; s++)
        if (ease__is_large(&h.section[s])) {
            ease_model *m = NULL;
            ease_error err = {0};

            /* The top bit of the first weight of row n / 3: what use_row reads. */
            flip(x.path, (size_t)h.section[s].offset + 1000 * (size_t)6016 + 1, 0x80);
            check_status(t, open_verifying(x.path, EASE_VERIFY_OPEN, NULL, &m, &err),
                         EASE_E_FORMAT);
            check_contains(t, err.text, "damaged: wrong checksum in section 'weights'");
            check_contains(t, err.text, "block 6 of 18");
            a = open_and_use(x.path, EASE_VERIFY_NEVER, use_row);
            check_status(t, a.status, EASE_OK);
            check(t, a.hash != x.whole[4].hash);
        }
    check_status(t, open_verifying(x.path, (ease_verify)3, NULL, NULL, NULL),
                 EASE_E_ARG);
}

static int stop_verifying(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)fraction;
    return strcmp(stage, "verifying") == 0;
}

static void verifying_all_can_be_cancelled(test *t)
{
    char path[PATH_BYTES], latent[PATH_BYTES];
    ease_hooks hooks = {.progress = stop_verifying};
    ease_row row = {.items = (int32_t[]){2, 1500}, .count = 2};
    ease_recommend_options o;
    ease_weight_summary summary = {.size = sizeof(summary)};
    ease_model *m = NULL, *n = NULL, *unopened = NULL;
    ease_rec recs[10];
    int32_t count;

    keep_path("cancelled.ease", path);
    keep_path("latent.ease", latent);
    make_file(&forms[1], true, path);
    make_file(&forms[5], true, latent);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    check_status(t, ease_model_open(latent, NULL, &n, NULL), EASE_OK);
    check_status(t, open_verifying(path, EASE_VERIFY_OPEN, &hooks, &unopened, NULL),
                 EASE_E_CANCELLED);
    check(t, unopened == NULL);
    check_status(t, ease_model_save(m, test_path("x"), EASE_STORE_F16, &hooks, NULL),
                 EASE_E_CANCELLED);
    check_status(t, ease_model_export(m, test_path("x.csv"), 1, &hooks, NULL),
                 EASE_E_CANCELLED);
    check_status(t, ease_model_summarize_weights(m, &summary, &hooks, NULL),
                 EASE_E_CANCELLED);
    ease_recommend_options_init(&o);
    o.hooks = &hooks;
    check_status(t, ease_recommend_many(n, &row, 1, &o, recs, &count, NULL),
                 EASE_E_CANCELLED);
    ease_model_free(m);
    ease_model_free(n);
}

/* ---- sections that are large but must not be ---------------------------------- */

static void only_weights_may_be_large(test *t)
{
    for (size_t i = 0; i < FORMS; i++) {
        char path[PATH_BYTES], copy[PATH_BYTES];
        ease__disk_header h;

        keep_path(forms[i].name, path);
        keep_path("as-large.ease", copy);
        make_file(&forms[i], false, path);
        h = read_header(path);
        for (uint32_t s = 0; s < h.sections; s++) {
            const char *name = h.section[s].name;
            ease_model *m = NULL;
            ease_error err = {0};
            ease_status status;

            if (strchr(name, '#'))
                continue;
            copy_with_large(path, name, copy);
            status = ease_model_open(copy, NULL, &m, &err);
            if (!check_status(t, status,
                              ease__is_large(&h.section[s]) ? EASE_OK : EASE_E_FORMAT))
                printf("  %s, section %s\n", forms[i].name, name);
            if (!ease__is_large(&h.section[s]))
                check_contains(t, err.text, name);
            ease_model_free(m);
        }
    }
}

/* ---- files that change while they are in use ---------------------------------- */

static void overwrite(const char *path, const char *with)
{
    FILE *from = fopen(with, "rb"), *to = fopen(path, "r+b");
    char *data = malloc(EASE__BLOCK);
    size_t got;

    if (!from || !to || !data)
        abort();
    while ((got = fread(data, 1, EASE__BLOCK, from)) > 0)
        if (fwrite(data, 1, got, to) != got)
            abort();
    fclose(from);
    fclose(to);
    free(data);
}

/* `used`: everything has been verified before it changes. */
static void change_while_open(test *t, const form *f, bool used, bool shorter)
{
    char path[PATH_BYTES], other[PATH_BYTES];
    ease_model *m = NULL, *changed;
    answer after;

    keep_path("changing.ease", path);
    keep_path("other.ease", other);
    make_file(f, true, path);
    changed = f->make(true);
    changed->info.interactions++; /* another file of the same size */
    check_status(t, ease_model_save(changed, other, f->storage, NULL, NULL), EASE_OK);
    ease_model_free(changed);
    if (!check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK))
        return;
    if (used)
        check_status(t, use_many(m).status, EASE_OK);
    if (shorter)
        check_int(t, truncate(path, 8192), 0);
    else
        overwrite(path, other);
    for (size_t u = 0; u < USES && f->storage != EASE_STORE_NONE; u++) {
        after = uses[u](m);
        if (after.status == EASE_E_ARG ||
            (uses[u] == use_rows && f->storage != EASE_STORE_F32))
            continue; /* not for this form */
        if (!check_status(t, after.status, EASE_E_FORMAT))
            printf("  %s, use %zu\n", f->name, u);
    }
    ease_model_free(m);
}

static void a_file_written_to_in_place_is_no_longer_used(test *t)
{
    for (size_t i = 0; i < FORMS; i++) {
        change_while_open(t, &forms[i], false, false);
        change_while_open(t, &forms[i], true, false);
        change_while_open(t, &forms[i], i % 2, true);
    }
}

static void a_model_in_memory_does_not_need_its_file(test *t)
{
    for (size_t i = 0; i < FORMS; i++) {
        trial x = begin_trial(t, &forms[i], true);
        ease_model *m = NULL;
        ease_open_options o;

        ease_open_options_init(&o);
        o.in_memory = 1;
        check_status(t, ease_model_open(x.path, &o, &m, NULL), EASE_OK);
        check_int(t, truncate(x.path, 0), 0);
        for (size_t u = 0; u < USES; u++) {
            answer after = uses[u](m);

            check_status(t, after.status, x.whole[u].status);
            check(t, after.hash == x.whole[u].hash);
        }
        ease_model_free(m);
    }
}

static void damage_is_found_when_a_model_is_read_into_memory(test *t)
{
    trial x = begin_trial(t, &forms[1], true);
    ease__disk_header h = read_header(x.path);
    ease_model *m = NULL;
    ease_open_options o;

    ease_open_options_init(&o);
    o.in_memory = 1;
    for (uint32_t s = 0; s < h.sections; s++)
        if (ease__is_large(&h.section[s]))
            flip(x.path, (size_t)(h.section[s].offset + h.section[s].bytes / 2), 1);
    check_status(t, ease_model_open(x.path, &o, &m, NULL), EASE_E_FORMAT);
    check(t, m == NULL);
}

static void a_small_file_is_needed_only_to_open_it(test *t)
{
    for (size_t i = 0; i < FORMS; i++) {
        char path[PATH_BYTES];
        ease_model *m = NULL;
        answer before[USES];

        keep_path("small.ease", path);
        make_file(&forms[i], false, path);
        check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
        for (size_t u = 0; u < USES; u++)
            before[u] = uses[u](m);
        check_int(t, truncate(path, 0), 0);
        for (size_t u = 0; u < USES; u++) {
            answer after = uses[u](m);

            check_status(t, after.status, before[u].status);
            check(t, after.hash == before[u].hash);
        }
        ease_model_free(m);
    }
}

static void a_file_may_be_replaced_while_in_use(test *t)
{
    const char *path = test_path("replaced.ease"), *other = test_path("new.ease");
    ease_model *m = NULL;
    answer before, after;

    make_file(&forms[1], true, path);
    make_file(&forms[1], false, other);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    before = use_one(m);
    check_int(t, rename(other, path), 0);
    after = use_one(m);
    check_status(t, after.status, EASE_OK);
    check(t, after.hash == before.hash);
    check_status(t, use_many(m).status, EASE_OK);
    check_int(t, unlink(path), 0);
    check_status(t, use_summary(m).status, EASE_OK);
    ease_model_free(m);
}

/* ---- faults ------------------------------------------------------------------- */

static void on_fault(int number, siginfo_t *info, void *context)
{
    static const char text[] = "a fault that is not the library's\n";

    (void)number;
    (void)context;
    if (ease_handle_fault(info->si_addr))
        return;
    (void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
    _exit(1);
}

static int shorten(void *user, const char *stage, double fraction)
{
    const char **path = user;

    (void)stage;
    (void)fraction;
    if (*path && truncate(*path, 8192) != 0)
        abort();
    *path = NULL;
    return 0;
}

static void a_file_that_becomes_shorter_during_a_call_is_an_error(test *t)
{
    struct sigaction old,
        action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    static const ease_storage storages[] = {EASE_STORE_F16, EASE_STORE_PACKED};

    sigaction(SIGBUS, &action, &old);
    for (size_t i = 0; i < 2; i++) {
        const char *path = test_path("shorter.ease"), *cut = path;
        int32_t items[] = {2, 1500, 2990}, counts[1];
        ease_row row = {.items = items, .count = 3};
        ease_model *m = dense(true), *back = NULL;
        ease_recommend_options o;
        ease_error err = {0};
        ease_rec recs[10];

        check_status(t, ease_model_save(m, path, storages[i], NULL, NULL), EASE_OK);
        check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
        ease_recommend_options_init(&o);
        o.hooks = &(ease_hooks){.progress = shorten, .user = &cut};
        check_status(t, ease_recommend_many(back, &row, 1, &o, recs, counts, &err),
                     EASE_E_FORMAT);
        check_contains(t, err.text, "was changed while in use");
        ease_model_free(back);
        ease_model_free(m);
    }
    sigaction(SIGBUS, &old, NULL);
}

static void only_faults_in_models_are_handled(test *t)
{
    const char *path = test_path("faults.ease");
    ease_model *m = NULL;
    const float *rows = NULL;
    size_t stride = 0;
    answer a;

    make_file(&forms[0], true, path);
    check_int(t, ease_handle_fault(path), 0);
    check_int(t, ease_handle_fault(NULL), 0);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    check_int(t, ease_handle_fault((const char *)m->rows - 1), 0);
    check_status(t, use_row(m).status, EASE_OK);
    check_int(t, ease_handle_fault((const char *)m->rows + 12345), 1);
    a = use_row(m);
    check_status(t, a.status, EASE_E_IO); /* the file has not changed */
    ease_model_free(m);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    check_status(t, ease_model_rows(m, &rows, &stride, NULL), EASE_OK);
    check_int(t, ease_handle_fault(rows), 0); /* lent */
    check_status(t, use_row(m).status, EASE_OK);
    ease_model_free(m);
}

/* ---- threads ------------------------------------------------------------------ */

static void threads_verify_a_fresh_model_together(test *t)
{
    enum { THREADS = 8 };

    for (size_t i = 0; i < FORMS; i++) {
        trial x = begin_trial(t, &forms[i], true);
        ease_model *m = NULL;
        answer a[THREADS];

        if (!check_status(t, ease_model_open(x.path, NULL, &m, NULL), EASE_OK))
            continue;
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
        for (int k = 0; k < THREADS; k++)
            a[k] = uses[k % QUICK](m);
        for (int k = 0; k < THREADS; k++)
            check(t, a[k].status == x.whole[k % QUICK].status &&
                         a[k].hash == x.whole[k % QUICK].hash);
        ease_model_free(m);
    }
}

/* ---- rows that no file may have ----------------------------------------------- */

/* A file whose checksums are right, but whose weight number `at` has another column or
 * value. Its row is the middle of the history in use_one. */
static void check_bad_row(test *t, bool large, const char *name, size_t at,
                          uint32_t value)
{
    enum { ITEM = 1498 };
    char path[PATH_BYTES], changed[PATH_BYTES];
    size_t bytes = 0, count = large ? 800 : 7, row = large ? ITEM : 20;
    section_change change = {.name = name, .flags = EASE__LARGE};
    ease__disk_header h;
    ease_model *m = NULL;
    uint32_t *data = NULL;
    char *file;

    keep_path("good.ease", path);
    keep_path("bad.ease", changed);
    make_file(&forms[4], large, path);
    check_text(t, forms[4].name, "sparse");
    h = read_header(path);
    file = test_read(path, &bytes);
    for (uint32_t i = 0; i < h.sections; i++)
        if (strcmp(h.section[i].name, name) == 0) {
            data = (uint32_t *)(void *)(file + h.section[i].offset);
            change.bytes = (size_t)h.section[i].bytes;
        }
    if (!data)
        abort();
    data[row * count + at] = value;
    change.data = data;
    copy_changed(path, change, changed);
    free(file);
    check_status(t, ease_file_verify(changed, NULL, NULL), EASE_OK);
    check_status(t, open_verifying(changed, EASE_VERIFY_OPEN, NULL, &m, NULL),
                 EASE_E_FORMAT);
    for (int v = EASE_VERIFY_USE; v <= EASE_VERIFY_NEVER; v += 2) {
        ease_status status = open_verifying(changed, (ease_verify)v, NULL, &m, NULL);

        check_status(t, status, large ? EASE_OK : EASE_E_FORMAT);
        for (size_t u = 0; !status && u < USES; u++) /* others read row 17 or 1000 */
            if (uses[u] != use_similar && uses[u] != use_row && uses[u] != use_rows)
                check_status(t, uses[u](m).status, EASE_E_FORMAT);
        ease_model_free(m);
        m = NULL;
    }
}

static void invalid_rows_are_found_before_they_are_used(test *t)
{
    for (int large = 0; large < 2; large++) {
        check_bad_row(t, large, "columns", 3, 0x40000000);
        check_bad_row(t, large, "columns", 3, 0xffffffff);
        check_bad_row(t, large, "columns", 3, 0); /* they do not ascend */
        check_bad_row(t, large, "columns", large ? 500 : 6, large ? 1498 : 20);
        check_bad_row(t, large, "weights", 2, 0x7f800000); /* infinity */
    }
}

static const test_case cases[] = {
    TEST(flips_in_small_files_are_found_at_once),
    TEST(flips_in_large_files_are_found_or_do_not_matter),
    TEST(all_is_verified_at_opening_or_nothing_is),
    TEST(verifying_all_can_be_cancelled),
    TEST(only_weights_may_be_large),
    TEST(a_file_written_to_in_place_is_no_longer_used),
    TEST(a_model_in_memory_does_not_need_its_file),
    TEST(damage_is_found_when_a_model_is_read_into_memory),
    TEST(a_small_file_is_needed_only_to_open_it),
    TEST(a_file_may_be_replaced_while_in_use),
    TEST(a_file_that_becomes_shorter_during_a_call_is_an_error),
    TEST(only_faults_in_models_are_handled),
    TEST(threads_verify_a_fresh_model_together),
    TEST(invalid_rows_are_found_before_they_are_used),
};
TEST_MAIN(cases)
