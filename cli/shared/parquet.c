#include "parquet.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "samefile.h"

static bool is_parquet(const char *path)
{
    char magic[4] = "";
    struct stat st;
    bool is = false;
    FILE *f;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) /* a pipe can be read but once */
        return false;
    f = fopen(path, "rb");
    if (f) {
        is = fread(magic, 1, sizeof(magic), f) == sizeof(magic) &&
             memcmp(magic, "PAR1", sizeof(magic)) == 0;
        fclose(f);
    }
    return is;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool first_is_parquet(const char *pattern)
{
    glob_t found = {0};
    bool is = glob(pattern, 0, NULL, &found) == 0 && is_parquet(found.gl_pathv[0]);

    globfree(&found);
    return is;
}

/* ---- command lines ------------------------------------------------------------- */

/* Prints a word as a shell needs it. */
static void put_word(const char *word)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "_@%+=:,./-";

    if (*word && !word[strspn(word, plain)]) {
        fprintf(stderr, " %s", word);
        return;
    }
    fputs(" '", stderr);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stderr);
    fputc('\'', stderr);
}

/* The arguments of this run, with - in place of the path. */
static void put_rest(const common_args *common, const char *path)
{
    fprintf(stderr, " | ease %s", common->verb->name);
    for (int i = 0; i < common->argc; i++) {
        const char *word = common->argv[i], *value = strchr(word, '=');

        if (strcmp(word, path) == 0)
            fputs(" -", stderr);
        else if (word[0] == '-' && value && strcmp(value + 1, path) == 0)
            fprintf(stderr, " %.*s=-", (int)(value - word), word);
        else
            put_word(word);
    }
    fputc('\n', stderr);
}

int refuse_parquet(console *c, const common_args *common, const char *path)
{
    char all[PATH_MAX];
    bool directory = is_directory(path), several = directory || is_pattern(path);

    snprintf(all, sizeof(all), directory ? "%s/*.parquet" : "%s", path);
    if (several ? !first_is_parquet(all) : !is_parquet(path))
        return EXIT_DONE;
    (void)fail(c, EXIT_DATA,
               "%s: Parquet, which DuckDB or the Python module pipes in:", path);
    if (!strpbrk(all, "'\"\\$`")) {
        fprintf(stderr, "  duckdb -csv -c \"FROM '%s'\"", all);
        put_rest(common, path);
    }
    if (!is_pattern(path)) {
        fputs("  python -m ease", stderr);
        put_word(path);
        put_rest(common, path);
    }
    return EXIT_DATA;
}
