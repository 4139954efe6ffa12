/* Fuzzes model files. The checksums are corrected, so that the code behind them is
 * reached, except in every third input. */
#include "fuzz_file.h"
#include "score/scoring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a call gives that needs weights, or something else that the form may lack. */
static ease_status if_there(bool there)
{
    return there ? EASE_OK : EASE_E_ARG;
}

static void use_scorer(const ease_model *m, int32_t n)
{
    const ease__scoring *f = m->form->scoring;
    int32_t items[3] = {0, n / 2, n - 1}, count = n > 2 ? 3 : 1, found = 0;
    float weights[3] = {1, 0.5f, -2}, base, score;
    ease_row row = {items, n % 2 ? weights : NULL, count};
    int64_t user = m->info.users - 1;
    bool nobody = m->form->known_users && user < 0;
    ease_recommend_options o;
    ease_scorer *s = NULL;
    ease_rec recs[5];
    int32_t counts[1];

    ease_recommend_options_init(&o);
    o.k = 5;
    o.threads = 1;
    o.users = &user;
    if (nobody || ease_scorer_new(m, &s, NULL) != EASE_OK)
        return;
    if (ease_recommend(s, row, &o, recs, &found, NULL) != EASE_OK ||
        ease_recommend(s, (ease_row){0}, &o, recs, &found, NULL) != EASE_OK ||
        ease_similar(s, n - 1, &o, recs, &found, NULL) != if_there(f->similar) ||
        ease_explain(s, row, n / 2, recs, &base, &score, NULL) !=
            if_there(f->explain) ||
        ease_recommend_many(m, &row, 1, &o, recs, counts, NULL) != EASE_OK)
        abort(); /* a model that opens can be used */
    ease_scorer_free(s);
}

static void use_model(const ease_model *m)
{
    ease_model_info info = model_info(m);
    float *row = malloc((size_t)info.items * sizeof(*row));

    for (int32_t i = 0; i < info.items; i++) {
        if (ease_model_find(m, ease_model_item_id(m, i)) != i)
            abort();
        (void)ease_model_title(m, i);
        (void)ease_model_popularity(m, i);
        (void)ease_model_base(m, i);
        if (ease_model_row(m, i, row, NULL) != EASE_OK)
            abort();
    }
    free(row);
    use_scorer(m, info.items);
    if (ease_model_save(m, "/dev/null", EASE_STORE_F16, NULL, NULL) != EASE_OK ||
        ease_model_export(m, "/dev/null", 2, NULL, NULL) !=
            if_there(!m->form->store->empty))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size + 1);
    ease_model *m = NULL;
    char path[FUZZ_PATH];
    int fd;

    memcpy(copy, data, size);
    if (size % 3 != 1)
        fuzz_fix_checksums(copy, size);
    fd = fuzz_file(copy, size, path);
    if (ease_model_open(path, NULL, &m, NULL) == EASE_OK)
        use_model(m);
    ease_model_free(m);
    close(fd);
    free(copy);
    return 0;
}
