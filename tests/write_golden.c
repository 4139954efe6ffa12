/* Writes golden files of the format that the library writes now:
 *
 *   write_golden VERSION DIRECTORY      vVERSION-NAME.ease, and NAME.txt beside it
 *
 * Run once for each version of the format, gzipped, and never again: what users have
 * on their disks does not change either. test_golden opens all of them. */
#include "golden.h"
#include "quick.h"

enum { USERS = 12, ITEMS = 9, PATH = 512 };

static void give_titles(ease_model *m)
{
    static const char *const titles[ITEMS] = {
        "The Wire", NULL, "Stalker, 1979", "\xc3\x84rger", "", "5", "6", "7", "last"};

    if (ease_model_set_titles(m, titles, NULL))
        abort();
}

static void write_text(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");

    if (!to || fputs(text, to) < 0 || fclose(to) != 0)
        abort();
}

int main(int argc, char **argv)
{
    ease_interactions *x = quick_data(USERS, ITEMS);

    if (argc != 3)
        return 2;
    for (int i = 0; i < GOLDEN_FILES; i++) {
        const struct golden_file *f = &golden_files[i];
        char path[PATH], *text;
        ease_train_options o;
        ease_model *m = NULL;

        ease_train_options_init(&o);
        o.lambda = ease_method_has_lambda(f->method) ? 3 : 0;
        o.settings = f->settings;
        o.kind = f->kind;
        if (ease_train_method(x, f->method, &o, &m, NULL))
            abort();
        if (f->titles)
            give_titles(m);
        snprintf(path, sizeof(path), "%s/v%s-%s.ease", argv[2], argv[1], f->name);
        if (ease_model_save(m, path, f->storage, NULL, NULL))
            abort();
        ease_model_free(m);
        if (ease_model_open(path, &m, NULL))
            abort();
        text = golden_answers(m);
        snprintf(path, sizeof(path), "%s/%s.txt", argv[2], f->name);
        write_text(path, text);
        free(text);
        ease_model_free(m);
    }
    ease_interactions_free(x);
    return 0;
}
