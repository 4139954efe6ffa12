/* Settings and grids of methods. The first byte chooses the method; a byte 30 divides
 * the settings from the grid. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Settings that are accepted can be printed, and accepted again with the same
 * values. */
static void use_settings(const ease__method *m, const char *text)
{
    double values[EASE__MOST_SETTINGS], again[EASE__MOST_SETTINGS];
    char printed[EASE__SETTINGS_CHARS];
    ease_error err = {0};
    ease_status status = ease__settings_parse(m->settings, m->info.name, text, values,
                                              NULL, &err);

    if (status && (status != EASE_E_ARG || !err.text[0]))
        abort();
    if (ease_method_check(m->info.name, text, NULL) == EASE_OK && status)
        abort();
    if (status)
        return;
    ease__settings_print(m->settings, values, NULL, printed);
    if (ease__settings_parse(m->settings, m->info.name, printed, again, NULL, NULL))
        abort();
    for (int i = 0; m->settings[i].name; i++)
        if (!isfinite(values[i]) || values[i] < m->settings[i].least ||
            values[i] > m->settings[i].most || again[i] != values[i])
            abort();
}

static void use_grid(const ease__method *m, const char *settings, const char *text)
{
    double values[EASE__MOST_SETTINGS] = {0};
    ease_train_options train;
    ease_tune_options o;
    ease__grid grid;
    ease_error err = {0};
    ease_status status = ease__grid_parse(m->settings, m->info.name, text, &grid, &err);

    if (status && (status != EASE_E_ARG || !err.text[0]))
        abort();
    for (int i = 0; !status && i < grid.points; i++)
        ease__grid_point(&grid, i, values);
    ease_train_options_init(&train);
    train.method = m->info.name;
    train.settings = settings;
    ease_tune_options_init(&o);
    o.train = &train;
    o.grid = text;
    if (!m->info.has_lambda && ease_tune_options_check(&o, NULL) == EASE_OK && status)
        abort();
}

/* The text before the divider, and behind it; both to be freed with *settings. */
static void divide(const uint8_t *data, size_t size, char **settings, char **grid)
{
    static const char divider[] = "\x1e";
    char *text = malloc(size + 1), *end;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    end = strstr(text, divider);
    *settings = text;
    *grid = end ? end + 1 : text + strlen(text);
    if (end)
        *end = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ease__method *m;
    char *settings, *grid;
    int count = 0;

    if (size == 0)
        return 0;
    while (ease__methods[count])
        count++;
    m = ease__methods[data[0] % count];
    divide(data + 1, size - 1, &settings, &grid);
    use_settings(m, settings);
    use_grid(m, settings, grid);
    free(settings);
    return 0;
}
