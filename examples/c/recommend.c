/* A whole recommender in one file: reads who depends on what, trains, and asks for a
 * history given on the command line.
 *
 *     cc recommend.c $(pkg-config --cflags --libs ease) -o recommend
 *     ./recommend npm.tsv.gz express body-parser
 */
#include <ease.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    ease_interactions *x = NULL;
    ease_model *m = NULL;
    ease_history *h = NULL;
    ease_scorer *s = NULL;
    ease_train_options train;
    ease_recommend_options o;
    ease_rec recs[10];
    int32_t count = 0;
    ease_error err;
    ease_status status;

    if (argc < 3) {
        fprintf(stderr, "usage: recommend DATA ITEM...\n");
        return 2;
    }
    ease_train_options_init(&train);
    train.lambda = 200;
    ease_recommend_options_init(&o);

    status = ease_interactions_read(argv[1], NULL, &x, &err);
    if (!status)
        status = ease_train(x, &train, &m, &err);
    if (!status)
        status = ease_history_new(m, (const char *const *)argv + 2, NULL, argc - 2, &h,
                                  &err);
    if (!status)
        status = ease_scorer_new(m, &s, &err);
    if (!status)
        status = ease_recommend(s, ease_history_row(h), &o, recs, &count, &err);
    if (!status && ease_history_unknown(h))
        fprintf(stderr, "unknown: %lld of the items\n",
                (long long)ease_history_unknown(h));
    if (status)
        fprintf(stderr, "recommend: %s\n", err.text);
    for (int32_t i = 0; i < count; i++)
        printf("%.3f  %s\n", (double)recs[i].score,
               ease_model_item_id(m, recs[i].item));

    ease_scorer_free(s);
    ease_history_free(h);
    ease_model_free(m);
    ease_interactions_free(x);
    return status ? 1 : 0;
}
