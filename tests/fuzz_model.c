/* Model files from anywhere. Checksums are made right first, so that what lies behind
 * them is reached; every third input is taken as it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fix_checksums(unsigned char *file, size_t size)
{
    ease__disk_header h;

    if (size < EASE__PAGE)
        return;
    memcpy(&h, file, sizeof(h));
    h.file_bytes = size;
    for (uint32_t i = 0; i < h.sections && i < EASE__SECTIONS; i++) {
        ease__disk_section *s = &h.section[i];

        if (!s->large && s->offset <= size && s->bytes <= size - s->offset)
            s->hash = XXH3_64bits(file + s->offset, (size_t)s->bytes);
    }
    h.hash = 0;
    memset(file + sizeof(h), 0, EASE__PAGE - sizeof(h));
    memcpy(file, &h, sizeof(h));
    h.hash = XXH3_64bits(file, EASE__PAGE);
    memcpy(file, &h, sizeof(h));
}

/* What needs weights is refused where there are none. */
static ease_status of_weights(const ease_model *m)
{
    return ease_model_describe(m).storage == EASE_STORE_NONE ? EASE_E_ARG : EASE_OK;
}

static void use_scorer(const ease_model *m, int32_t n)
{
    int32_t items[3] = {0, n / 2, n - 1}, count = n > 2 ? 3 : 1, found = 0;
    float weights[3] = {1, 0.5f, -2}, base, score;
    ease_row row = {items, n % 2 ? weights : NULL, count};
    ease_recommend_options o;
    ease_scorer *s = NULL;
    ease_rec recs[5];
    int32_t counts[1];

    ease_recommend_options_init(&o);
    o.k = 5;
    o.threads = 1;
    if (ease_scorer_new(m, &s, NULL) != EASE_OK)
        return;
    if (ease_recommend(s, row, &o, recs, &found, NULL) != EASE_OK ||
        ease_recommend(s, (ease_row){0}, &o, recs, &found, NULL) != EASE_OK ||
        ease_similar(s, n - 1, &o, recs, &found, NULL) != of_weights(m) ||
        ease_explain(s, row, n / 2, recs, &base, &score, NULL) != EASE_OK ||
        ease_recommend_many(m, &row, 1, &o, recs, counts, NULL) != EASE_OK)
        abort(); /* a model that opens can be used */
    ease_scorer_free(s);
}

static void use_model(const ease_model *m)
{
    ease_model_info info = ease_model_describe(m);
    float *row = malloc((size_t)info.items * sizeof(*row));

    for (int32_t i = 0; i < info.items; i++) {
        if (ease_model_find(m, ease_model_item_id(m, i)) != i)
            abort();
        (void)ease_model_title(m, i);
        (void)ease_model_popularity(m, i);
        (void)ease_model_base(m, i);
        ease_model_row(m, i, row);
    }
    free(row);
    use_scorer(m, info.items);
    if (ease_model_save(m, "/dev/null", EASE_STORE_F16, NULL, NULL) != EASE_OK ||
        ease_model_export(m, "/dev/null", 2, NULL, NULL) != of_weights(m))
        abort();
}

static void open_bytes(const unsigned char *data, size_t size)
{
    int fd = memfd_create("model", MFD_CLOEXEC);
    ease_model *m = NULL;
    char path[48];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
        ease_model_open(path, &m, NULL) == EASE_OK)
        use_model(m);
    ease_model_free(m);
    if (fd >= 0)
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size + 1);

    memcpy(copy, data, size);
    if (size % 3 != 1)
        fix_checksums(copy, size);
    open_bytes(copy, size);
    free(copy);
    return 0;
}
