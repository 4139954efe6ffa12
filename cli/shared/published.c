#include "published.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define NONE                                  \
    {                                         \
        (double)NAN, (double)NAN, (double)NAN \
    }

static const published_model models_1[] = {
    {"popularity", {{.162, .235, .191}, {.116, .175, .159}, {.043, .068, .058}}},
    {"ease", {{.391, .521, .420}, {.362, .445, .393}, {.333, .428, .389}}},
    {"ease-nonneg", {{.373, .499, .402}, {.345, .424, .373}, {.324, .418, .379}}},
    {"slim", {{.370, .495, .401}, {.347, .428, .379}, NONE}},
    {"wmf", {{.360, .498, .386}, {.316, .404, .351}, {.211, .312, .257}}},
    {"cdae", {{.391, .523, .418}, {.343, .428, .376}, {.188, .283, .237}}},
    {"mult-vae", {{.395, .537, .426}, {.351, .444, .386}, {.266, .364, .316}}},
    {"mult-dae", {{.387, .524, .419}, {.344, .438, .380}, {.266, .363, .313}}},
    {NULL, {NONE}}};

static const published_model models_2[] = {
    {"ease", {{.6258}}},      {"ease-nonneg", {{.6199}}}, {"ii-svd", {{.6113}}},
    {"item-item", {{.5957}}}, {"wmf", {{.5969}}},         {NULL, {NONE}}};

static const published_table tables[] = {{.name = "table1",
                                          .title = "Table 1: strong generalization",
                                          .metrics = "recall@20,recall@50,ndcg@100",
                                          .metric = "ndcg@100",
                                          .sets = {"ml-20m", "netflix", "msd"},
                                          .models = models_1},
                                         {.name = "table2",
                                          .title = "Table 2: weak generalization",
                                          .metrics = "ndcg@10",
                                          .metric = "ndcg@10",
                                          .sets = {"ml-10m"},
                                          .models = models_2}};

const published_table *published_find(const char *name)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    return NULL;
}

const published_model *published_of(const published_table *t, const char *model)
{
    for (const published_model *m = t->models; m->model; m++)
        if (strcmp(m->model, model) == 0)
            return m;
    return NULL;
}

/* ---- the data ----------------------------------------------------------------- */

enum { MOST_PLACES = 8 };

static const struct {
    const char *recipe, *source;
    const char *places[MOST_PLACES];
} data[] = {
    {"ml-20m", "grouplens.org/datasets/movielens/20m", {"ml-20m", "ml-20m.zip", NULL}},
    {"netflix",
     "archive.org or kaggle.com/netflix-inc/netflix-prize-data",
     {"netflix", "nf_prize_dataset", "netflix-prize-data", "download", "training_set",
      NULL}},
    {"msd",
     "millionsongdataset.com/tasteprofile",
     {"msd", "train_triplets.txt", "train_triplets.txt.zip", "train_triplets.txt.gz",
      "train_triplets.txt.zst", NULL}},
    {"ml-10m",
     "grouplens.org/datasets/movielens/10m",
     {"ml-10M100K", "ml-10m", "ml-10m.zip", NULL}}};

static size_t find_data(const char *recipe)
{
    size_t i = 0;

    while (strcmp(data[i].recipe, recipe) != 0)
        i++;
    return i;
}

const char *const *published_places(const char *recipe)
{
    return data[find_data(recipe)].places;
}

const char *published_source(const char *recipe)
{
    return data[find_data(recipe)].source;
}
