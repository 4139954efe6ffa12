/* Writes golden files of the format that the library writes now:
 *
 *   write_golden VERSION DIRECTORY      vVERSION-NAME.ease, NAME.txt with its answers,
 *                                       and newer-PLANT.ease: f32 as later versions of
 *                                       ease may write it
 *
 * Run once for each version of the format; the files are gzipped, and never written
 * again, as the files of users do not change either. test_golden opens all of them. */
#include "golden.h"
#include "model/model.h"
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

/* ---- what later versions may write ----------------------------------------- */

typedef struct plant {
    const char *directory, *from; /* f32 of this version */
    char to[PATH];
} plant;

static const char *plant_at(plant *p, const char *name)
{
    snprintf(p->to, sizeof(p->to), "%s/newer-%s.ease", p->directory, name);
    return p->to;
}

static void plant_section(plant *p, const char *name, uint64_t flags)
{
    static const char data[] = "a section from the future";

    copy_changed(
        p->from,
        (section_change){
            .name = "future", .data = data, .bytes = sizeof(data), .flags = flags},
        plant_at(p, name));
}

static void plant_params(plant *p, const char *name, const ease__model_params *params,
                         size_t bytes)
{
    copy_changed(p->from,
                 (section_change){.name = "params", .data = params, .bytes = bytes},
                 plant_at(p, name));
}

static void plant_all(plant *p)
{
    ease__model_params params[2], own;
    ease__disk_header h = read_header(p->from);
    FILE *from = fopen(p->from, "rb");

    if (!from || fseek(from, (long)h.section[0].offset, SEEK_SET) != 0 ||
        fread(&own, sizeof(own), 1, from) != 1)
        abort();
    fclose(from);
    plant_section(p, "section", 0);
    plant_section(p, "large-section", EASE__LARGE);
    plant_section(p, "critical-section", EASE__CRITICAL);
    params[0] = own;
    memset(&params[1], 9, sizeof(params[1]));
    plant_params(p, "params", params, sizeof(params));
    params[0].method = 200;
    snprintf(params[0].method_name, sizeof(params[0].method_name), "edlae");
    plant_params(p, "method", params, sizeof(*params));
    params[0] = own;
    params[0].storage = 200;
    snprintf(params[0].form_name, sizeof(params[0].form_name), "blocks");
    plant_params(p, "form", params, sizeof(*params));
    plant_section(p, "version", 0);
    h = read_header(p->to);
    h.version++;
    write_header(p->to, h);
}

int main(int argc, char **argv)
{
    ease_interactions *x = quick_data(USERS, ITEMS);
    char first[PATH];

    if (argc != 3)
        return 2;
    for (int i = 0; i < GOLDEN_FILES; i++) {
        const struct golden_file *f = &golden_files[i];
        char path[PATH], *text;
        ease_train_options o;
        ease_model *m = NULL;

        ease_train_options_init(&o);
        o.method = f->method;
        o.lambda = ease_method_find(f->method)->has_lambda ? 3 : 0;
        o.settings = f->settings;
        o.kind = f->kind;
        if (ease_train(x, &o, &m, NULL))
            abort();
        if (f->titles)
            give_titles(m);
        snprintf(path, sizeof(path), "%s/v%s-%s.ease", argv[2], argv[1], f->name);
        if (ease_model_save(m, path, f->storage, NULL, NULL))
            abort();
        ease_model_free(m);
        if (ease_model_open(path, NULL, &m, NULL))
            abort();
        text = golden_answers(m);
        snprintf(path, sizeof(path), "%s/%s.txt", argv[2], f->name);
        write_text(path, text);
        free(text);
        ease_model_free(m);
    }
    snprintf(first, sizeof(first), "%s/v%s-f32.ease", argv[2], argv[1]);
    plant_all(&(plant){.directory = argv[2], .from = first});
    ease_interactions_free(x);
    return 0;
}
