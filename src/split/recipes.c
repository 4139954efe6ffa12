/* The paper's data sets: the filters of their published splits. */
#include <math.h>
#include <string.h>

#include "core/core.h"

static const ease_recipe recipes[] = {
    {.name = "ml-20m",
     .title = "MovieLens 20M",
     .min_rating = 4, /* above 3.5, in half stars */
     .min_user = 5,
     .protocol = "liang18",
     .heldout_users = 10000,
     .lambda = 500,
     .users = 136677,
     .items = 20720,
     .interactions = 9990682},
    {.name = "netflix",
     .title = "Netflix Prize",
     .format = "netflix",
     .min_rating = 4,
     .min_user = 5,
     .protocol = "liang18",
     .heldout_users = 40000,
     .lambda = 1000,
     .users = 463435,
     .items = 17769,
     .interactions = 56880037},
    {.name = "msd",
     .title = "Million Song Dataset",
     .min_rating = (double)NAN, /* any number of plays */
     .min_user = 20,
     .min_item = 200,
     .protocol = "liang18",
     .heldout_users = 50000,
     .lambda = 200,
     .users = 571355,
     .items = 41140,
     .interactions = 33633450},
    {.name = "ml-10m",
     .title = "MovieLens 10M",
     .min_rating = (double)NAN,
     .protocol = "volkovs15",
     .lambda = 3000},
};

enum { RECIPES = sizeof(recipes) / sizeof(recipes[0]) };

const ease_recipe *ease_recipe_at(int index)
{
    return index >= 0 && index < RECIPES ? &recipes[index] : NULL;
}

const ease_recipe *ease_recipe_find(const char *name)
{
    for (int i = 0; name && i < RECIPES; i++)
        if (strcmp(name, recipes[i].name) == 0)
            return &recipes[i];
    return NULL;
}

void ease_recipe_apply(const ease_recipe *recipe, ease_read_options *o)
{
    if (!recipe || !o)
        return;
    o->format = recipe->format;
    o->min_rating = recipe->min_rating;
    o->min_user = recipe->min_user;
    o->min_item = recipe->min_item;
    o->one_pass = 1;
}
