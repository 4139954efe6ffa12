/* Golden files: models of every form in one version of the file format, and the results
 * of all calls with them, as text. Floats are hexadecimal, so that all bits are
 * compared. */
#ifndef EASE_TEST_GOLDEN_H
#define EASE_TEST_GOLDEN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infos.h"

enum { GOLDEN_HISTORIES = 5, GOLDEN_MOST_ITEMS = 16 };

static const struct golden_file {
    const char *name; /* NAME.txt has the results, vN-NAME.ease.gz the model */
    const char *method, *settings;
    ease_storage storage;
    ease_gram_kind kind;
    bool titles;
    int since; /* the first version that has it */
} golden_files[] = {
    {"f32", "ease", "", EASE_STORE_F32, EASE_GRAM_COUNTS, false, 1},
    {"f16", "ease", "", EASE_STORE_F16, EASE_GRAM_COVARIANCE, true, 1},
    {"packed", "ease-nonneg", "", EASE_STORE_PACKED, EASE_GRAM_COUNTS, false, 1},
    {"correlation", "ease", "", EASE_STORE_PACKED, EASE_GRAM_CORRELATION, true, 1},
    {"none", "popularity", "", EASE_STORE_NONE, EASE_GRAM_COUNTS, false, 1},
    {"sparse", "slim-free", "l1=0.1,l2=1", EASE_STORE_SPARSE, EASE_GRAM_COUNTS, false,
     1},
    {"nearest", "item-item", "neighbours=4", EASE_STORE_SPARSE, EASE_GRAM_COUNTS, true,
     1},
    {"factors", "wmf", "rank=4,lambda=1", EASE_STORE_LATENT, EASE_GRAM_COUNTS, false,
     1},
    {"network", "mult-vae", "epochs=3,hidden=6,latent=4", EASE_STORE_LATENT,
     EASE_GRAM_COUNTS, true, 1},
    {"known", "lrec", "", EASE_STORE_KNOWN, EASE_GRAM_COUNTS, false, 1},
    {"relaxed", "ease-family", "user-power=0.5,relaxation=0.4,input-power=0.2",
     EASE_STORE_PACKED, EASE_GRAM_COVARIANCE, false, 2},
    {"scaled", "dan", "dropout=0.2", EASE_STORE_F16, EASE_GRAM_COUNTS, true, 2},
};
enum { GOLDEN_FILES = sizeof(golden_files) / sizeof(golden_files[0]) };

static inline void golden_list(FILE *to, const char *what, ease_status status,
                               const ease_rec *recs, int32_t count)
{
    fprintf(to, "%s: %s", what, ease_status_name(status));
    for (int32_t i = 0; !status && i < count; i++)
        fprintf(to, " %d %a", (int)recs[i].item, (double)recs[i].score);
    fprintf(to, "\n");
}

/* Writes the description of a model, without the size of its file, which differs
 * between versions of the format. */
static inline void golden_info(FILE *to, const ease_model *m)
{
    ease_model_info info = model_info(m);

    fprintf(to, "method %s settings '%s' items %d users %lld interactions %lld\n",
            info.method, info.settings, (int)info.items, (long long)info.users,
            (long long)info.interactions);
    fprintf(to, "lambda %a residual %a kind %d precision %d storage %d\n", info.lambda,
            info.residual, (int)info.kind, (int)info.precision, (int)info.storage);
    fprintf(to, "nonnegative %d base %d titles %d\n", info.nonnegative, info.has_base,
            info.has_titles);
    for (int32_t i = 0; i < info.items; i++) {
        const char *title = ease_model_title(m, i);

        fprintf(to, "item %s title '%s' popularity %a base %a\n",
                ease_model_item_id(m, i), title ? title : "",
                ease_model_popularity(m, i), (double)ease_model_base(m, i));
    }
}

static inline void golden_rows(FILE *to, const ease_model *m, int32_t items)
{
    float row[GOLDEN_MOST_ITEMS];

    for (int32_t i = 0; i < items; i++) {
        ease_status status = ease_model_row(m, i, row, NULL);

        fprintf(to, "row: %s", ease_status_name(status));
        for (int32_t j = 0; !status && j < items; j++)
            fprintf(to, " %a", (double)row[j]);
        fprintf(to, "\n");
    }
}

/* History h: some items, the last ones with weights, the first one empty. */
static inline ease_row golden_history(int32_t items, int h, int32_t *at, float *weights)
{
    ease_row row = {.items = at};

    for (int32_t i = h; h > 0 && i < items; i += h)
        at[row.count++] = i;
    for (int32_t i = 0; i < row.count; i++)
        weights[i] = 0.5f * (float)(i + 1);
    row.weights = h > 2 ? weights : NULL;
    return row;
}

static inline void golden_scores(FILE *to, const ease_model *m, int32_t items)
{
    int32_t at[GOLDEN_HISTORIES][GOLDEN_MOST_ITEMS], counts[GOLDEN_HISTORIES] = {0};
    float weights[GOLDEN_HISTORIES][GOLDEN_MOST_ITEMS];
    ease_rec recs[GOLDEN_HISTORIES * GOLDEN_MOST_ITEMS] = {{0}};
    ease_row rows[GOLDEN_HISTORIES];
    int64_t users[GOLDEN_HISTORIES];
    ease_recommend_options o;
    ease_scorer *s = NULL;
    ease_status status;

    ease_recommend_options_init(&o);
    o.k = items;
    o.users = users;
    for (int h = 0; h < GOLDEN_HISTORIES; h++) {
        rows[h] = golden_history(items, h, at[h], weights[h]);
        users[h] = 2 * h;
    }
    status = ease_recommend_many(m, rows, GOLDEN_HISTORIES, &o, recs, counts, NULL);
    for (int h = 0; h < GOLDEN_HISTORIES; h++)
        golden_list(to, "many", status, recs + (size_t)h * (size_t)items, counts[h]);
    if (ease_scorer_new(m, &s, NULL))
        abort();
    for (int h = 0; h < GOLDEN_HISTORIES; h++) {
        o.users = &users[h];
        o.keep_seen = 1;
        status = ease_recommend(s, rows[h], &o, recs, counts, NULL);
        golden_list(to, "one", status, recs, counts[0]);
        for (int32_t i = 0; i < items; i++) {
            float base = 0, score = 0;

            status = ease_explain(s, rows[h], i, recs, &base, &score, NULL);
            golden_list(to, "explain", status, recs, rows[h].count);
            fprintf(to, "  %a + ... = %a\n", (double)base, (double)score);
        }
    }
    for (int32_t i = 0; i < items; i++) {
        status = ease_similar(s, i, &o, recs, counts, NULL);
        golden_list(to, "similar", status, recs, counts[0]);
    }
    ease_scorer_free(s);
}

/* Returns the results of all calls with a model, as text that the caller frees. */
static inline char *golden_answers(const ease_model *m)
{
    int32_t items = model_info(m).items;
    size_t bytes = 0;
    char *text = NULL;
    FILE *to = open_memstream(&text, &bytes);

    if (!to || items > GOLDEN_MOST_ITEMS)
        abort();
    golden_info(to, m);
    golden_rows(to, m, items);
    golden_scores(to, m, items);
    if (fclose(to) != 0)
        abort();
    return text;
}

#endif
