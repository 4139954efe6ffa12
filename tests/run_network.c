/* Networks for bench/networks.py, which does the same in JAX:
 *
 *     run_network step DIRECTORY METHOD STEPS
 *                                          steps on one batch: the input, and the
 *                                          weights after the steps
 *     run_network train SPLIT METHOD SETTINGS THREADS [plain]
 *                                          a line of JSON for each epoch, and one for
 *                                          the test users; plain: without validation
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data.h"
#include "infos.h"
#include "methods/network.h"

enum { USERS = 100, ITEMS = 700 };

static void require(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "run_network: %s\n", what);
        exit(1);
    }
}

/* ---- step ----------------------------------------------------------------------- */

static void dump(const char *directory, const char *name, const void *from, size_t size,
                 size_t count)
{
    char path[1000];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    f = fopen(path, "wb");
    require(f && fwrite(from, size, count, f) == count && fclose(f) == 0, path);
}

static ease__network_options options_of(const char *method)
{
    bool vae = strcmp(method, "mult-vae") == 0, cdae = strcmp(method, "cdae") == 0;
    ease__network_options o = {.shape = {.encoder = EASE__NETWORK,
                                         .layers = vae ? 3 : 1,
                                         .width = {vae ? 600 : 200},
                                         .activation = {EASE__TANH}},
                               .drawn = vae ? 1 : -1,
                               .loss = cdae ? EASE__SQUARES : EASE__MULTINOMIAL,
                               .epochs = 1,
                               .batch = USERS,
                               .rate = 1e-3,
                               .decay = vae ? 0 : 0.01 / 500,
                               .weight = 5,
                               .anneal = 10,
                               .cap = 0.2,
                               .seed = 1};

    if (vae) {
        o.shape.width[1] = 200;
        o.shape.width[2] = 600;
        o.shape.activation[2] = EASE__TANH;
    }
    return o;
}

/* Input: half of the target, with any weights. */
static void fill_batch(const ease_interactions *x, ease__batch *b, float *dense)
{
    ease__random r;

    ease__random_seed(&r, 1, 1);
    for (int32_t u = 0; u < USERS; u++) {
        ease_row all = ease_interactions_row(x, u);
        int32_t *items = calloc((size_t)all.count + 1, sizeof(*items)), count = 0;
        float *weights = calloc((size_t)all.count + 1, sizeof(*weights));

        require(items && weights, "no memory");
        for (int32_t k = 0; k < all.count; k++) {
            if (ease__random_below(&r, 2))
                continue;
            items[count] = all.items[k];
            weights[count] = (float)ease__random_unit(&r);
            dense[(size_t)u * ITEMS + (size_t)items[count]] = weights[count];
            count++;
        }
        b->user[u] = u;
        b->target[u] = all;
        b->input[u] = (ease_row){items, weights, count};
    }
    for (size_t k = 0; k < (size_t)USERS * 200; k++)
        b->noise[k] = (float)(4 * ease__random_unit(&r) - 2);
}

static int run_steps(const char *directory, const char *method, int steps)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.05, false, 5);
    ease__network_options o = options_of(method);
    ease__network net;
    ease__batch b = {USERS, calloc(USERS, sizeof(ease_row)),
                     calloc(USERS, sizeof(ease_row)), calloc(USERS, sizeof(int64_t)),
                     calloc((size_t)USERS * 200, sizeof(float))};
    float *input = calloc((size_t)USERS * ITEMS, sizeof(*input));
    double *target = dense_interactions(x);

    require(b.target && b.input && b.user && b.noise && input && target, "no memory");
    require(!ease__network_new(&o, USERS, ITEMS, x->nnz, 2, &net, NULL), "no network");
    fill_batch(x, &b, input);
    dump(directory, "before", net.value, sizeof(float), net.at.count);
    dump(directory, "input", input, sizeof(float), (size_t)USERS * ITEMS);
    dump(directory, "target", target, sizeof(double), (size_t)USERS * ITEMS);
    dump(directory, "noise", b.noise, sizeof(float), (size_t)USERS * 200);
    printf(
        "{\"users\": %d, \"items\": %d, \"steps\": %d, \"decay\": %.17g, \"weight\": "
        "%g, \"anneal\": %g, \"cap\": %g, \"rate\": %g,\n \"embedding\": %zu, "
        "\"decoder\": %zu, \"base\": %zu, \"spread\": [%zu, %zu], \"layers\": [",
        (int)USERS, (int)ITEMS, steps, o.decay, o.weight, o.anneal, o.cap, o.rate,
        net.at.embedding, net.at.decoder, net.at.base, net.at.spread.a,
        net.at.spread.b);
    for (int32_t l = 0; l < o.shape.layers; l++)
        printf("%s[%zu, %zu, %d, %d]", l ? ", " : "", net.at.layer[l].a,
               net.at.layer[l].b, (int)net.at.layer[l].in, (int)net.at.layer[l].out);
    printf("],\n \"loss\": [");
    for (int step = 0; step < steps; step++)
        printf("%s%.9g", step ? ", " : "", ease__network_step(&net, &b));
    printf("]}\n");
    dump(directory, "after", net.value, sizeof(float), net.at.count);
    dump(directory, "moments", net.first, sizeof(float), net.at.count);
    return 0; /* what is allocated ends with the process */
}

/* ---- train ---------------------------------------------------------------------- */

static void tell(void *user, int level, const char *text)
{
    double *last = user, now = ease__seconds();

    (void)level;
    if (strncmp(text, "epoch ", 6) == 0) {
        printf("{\"seconds\": %.4f, \"log\": \"%s\"}\n", now - *last, text);
        fflush(stdout);
    }
    *last = ease__seconds();
}

static void tell_report(const ease_model *m, const char *name,
                        const ease_interactions *input, const ease_interactions *target)
{
    ease_report *r = NULL;
    ease_error err;

    if (ease_evaluate(m, input, target, NULL, &r, &err))
        require(false, err.text);
    printf("{\"users\": \"%s\"", name);
    for (int i = 0; i < report_info(r).metrics; i++) {
        ease_metric one = report_metric(r, i);

        printf(", \"%s\": [%.5f, %.5f]", one.name, one.mean, one.standard_error);
    }
    printf("}\n");
    ease_report_free(r);
}

static int run_training(char **argv, bool validated)
{
    ease_split_parts p = {.size = sizeof(p)};
    ease_train_options o;
    ease_model *m = NULL;
    ease_error err;
    double last;

    if (ease_split_open(argv[0], &p, &err))
        require(false, err.text);
    ease_train_options_init(&o);
    o.method = argv[1];
    o.settings = argv[2];
    o.threads = atoi(argv[3]);
    o.hooks = &(ease_hooks){.log = tell, .user = &last};
    if (validated) {
        o.validation_input = p.validation_input;
        o.validation_target = p.validation_target;
    }
    last = ease__seconds();
    if (ease_train(p.train, &o, &m, &err))
        require(false, err.text);
    tell_report(m, "validation", p.validation_input, p.validation_target);
    tell_report(m, "test", p.test_input, p.test_target);
    ease_model_free(m);
    ease_split_close(&p);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "step") == 0)
        return run_steps(argv[2], argv[3], atoi(argv[4]));
    if ((argc == 6 || argc == 7) && strcmp(argv[1], "train") == 0)
        return run_training(argv + 2, argc == 6);
    require(
        false,
        "step DIRECTORY METHOD STEPS | train SPLIT METHOD SETTINGS THREADS [plain]");
}
