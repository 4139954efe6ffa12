#include "gramsql.h"

#include <inttypes.h>
#include <string.h>

#include "results.h"

#define AT(member) .at = offsetof(sql_args, member)

/* The number of pairs for one statement: it runs for minutes, and its groups fit
 * into the memory of one machine. */
enum { PAIRS_A_SHARD = 200000000, SHARDS_MOST = 100000 };

const option sql_options[] = {
    {.name = "engine",
     .type = OPTION_CHOICE,
     AT(engine),
     .value = "duckdb|postgres|spark",
     .help = "the engine that runs the SQL; required"},
    {.name = "table",
     .type = OPTION_TEXT,
     AT(table),
     .value = "T",
     .help = "the table of events, as spelled in the catalog (also schema.table), or "
             "a query in parentheses; required"},
    {.name = "user",
     .type = OPTION_TEXT,
     AT(user),
     .value = "U",
     .help = "the column of users in the table; required"},
    {.name = "item",
     .type = OPTION_TEXT,
     AT(item),
     .value = "I",
     .help = "the column of items in the table; required"},
    {.name = "order",
     .type = OPTION_TEXT,
     AT(order),
     .value = "COLUMN",
     .help = "order items by their smallest value in this column, as when reading a "
             "file in this order (default: by id)"},
    {.name = "pairs",
     .type = OPTION_COUNT,
     AT(pairs),
     .value = "N",
     .least = 1,
     .help =
         "the number of pairs to count, from the query of --estimate: one shard for "
         "each 200 million"},
    {.name = "shards",
     .type = OPTION_COUNT,
     AT(shards),
     .value = "N",
     .least = 1,
     .most = SHARDS_MOST,
     .help = "the number of shards of users, by a hash (default 1)"},
    {.name = "estimate",
     .type = OPTION_FLAG,
     AT(estimate),
     .help = "print only the query that estimates the number of pairs"},
    {.name = "dir",
     .type = OPTION_TEXT,
     AT(dir),
     .value = "DIR",
     .help = "the directory that the engine writes to (default: where it runs)"},
    OPTIONS_END};

typedef enum engine_kind { DUCKDB, POSTGRES, SPARK } engine_kind;

typedef struct engine {
    const char *name;
    const char *run;  /* the command that runs gram.sql */
    const char *text; /* the type of ids */
    const char *by_bytes;
    const char *shard; /* shard of p.who, given the number of shards */
    char quote;        /* quote character of names */
} engine;

static const engine engines[] = {
    [DUCKDB] = {.name = "DuckDB",
                .run = "duckdb FILE.duckdb < gram.sql",
                .text = "VARCHAR",
                .by_bytes = "",
                .shard = "hash(p.who) %% %" PRId64,
                .quote = '"'},
    [POSTGRES] = {.name = "PostgreSQL",
                  .run = "psql -d DATABASE -f gram.sql",
                  .text = "TEXT",
                  .by_bytes = " COLLATE \"C\"",
                  /* Equal numbers can have several texts: 1.0 and 1.00. */
                  .shard = "(hashtext(min(CAST(p.who AS TEXT)) OVER (PARTITION BY "
                           "p.who)) & 2147483647) %% %" PRId64,
                  .quote = '"'},
    [SPARK] = {.name = "Spark",
               .run = "spark-sql -f gram.sql",
               .text = "STRING",
               .by_bytes = "",
               .shard = "pmod(xxhash64(p.who), %" PRId64 ")",
               .quote = '`'},
};

typedef struct script {
    const sql_args *a;
    const engine *e;
    int64_t shards;
} script;

bool sql_is_default(const sql_args *a)
{
    return a->engine < 0 && !a->table && !a->user && !a->item && !a->order && !a->dir &&
           !a->shards && !a->pairs && !a->estimate;
}

/* ---- names -------------------------------------------------------------------- */

static bool is_quote(char c)
{
    return c == '"' || c == '`';
}

/* Parses a part of a name, up to a dot: plain, or in quotes of either kind, which
 * are doubled inside. Writes it in the engine's quotes unless `to` is NULL. Returns
 * its end, or NULL if there is none. */
static const char *take_part(FILE *to, char quote, const char *at)
{
    bool quoted = is_quote(*at);
    char open = '\0';
    const char *start;

    if (quoted)
        open = *at++;
    start = at;
    if (to)
        fputc(quote, to);
    while (*at && (open || *at != '.')) {
        if (*at == open) {
            if (at[1] != open)
                break;
            at++;
        }
        if (to && *at == quote)
            fputc(quote, to);
        if (to)
            fputc(*at, to);
        at++;
    }
    if (to)
        fputc(quote, to);
    if (at == start || (open && *at++ != open) || (*at && *at != '.'))
        return NULL;
    return at;
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

static bool is_name(const char *name)
{
    const char *at = name;

    if (has_control(name))
        return false;
    while ((at = take_part(NULL, '"', at)) && *at)
        at++;
    return at != NULL;
}

static void put_name(const script *s, const char *name)
{
    const char *at = name;

    while ((at = take_part(stdout, s->e->quote, at)) && *at) {
        fputc('.', stdout);
        at++;
    }
}

static bool is_query(const char *table)
{
    return table[0] == '(' && table[strlen(table) - 1] == ')';
}

/* Writes a name in a comment, which a line break would end. */
static void put_plain(const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, stdout);
}

/* ---- paths -------------------------------------------------------------------- */

/* Writes DIR/, or nothing, within a string of the engine's SQL. */
static void put_dir(const script *s)
{
    const char *dir = s->a->dir ? s->a->dir : "";

    for (const char *at = dir; *at; at++) {
        bool spark = s->e == &engines[SPARK];

        if (*at == '\'' || (spark && *at == '\\'))
            fputc(spark ? '\\' : '\'', stdout);
        fputc(*at, stdout);
    }
    if (*dir && dir[strlen(dir) - 1] != '/')
        fputc('/', stdout);
}

/* Writes DIR/, or nothing, within a word of a shell command. */
static void put_shell_dir(const script *s)
{
    const char *dir = s->a->dir ? s->a->dir : "";
    bool plain = strspn(dir, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_./-+:@%") == strlen(dir);

    if (!plain)
        fputc('\'', stdout);
    for (; *dir; dir++)
        fputs(*dir == '\'' ? "'\\''" : (char[]){*dir, '\0'}, stdout);
    if (!plain)
        fputc('\'', stdout);
    if (s->a->dir && *s->a->dir && s->a->dir[strlen(s->a->dir) - 1] != '/')
        fputc('/', stdout);
}

/* ---- statements --------------------------------------------------------------- */

/* Writes the table of distinct pairs of user and item, from which all others are
 * made. */
static void put_pairs(const script *s)
{
    const sql_args *a = s->a;
    const char *columns[] = {a->user, a->item};

    fputs("SELECT ", stdout);
    put_name(s, a->user);
    fputs(" AS who, CAST(", stdout);
    put_name(s, a->item);
    printf(" AS %s) AS item", s->e->text);
    if (a->order) {
        fputs(", min(", stdout);
        put_name(s, a->order);
        fputs(") AS seen", stdout);
    }
    fputs("\nFROM ", stdout);
    if (is_query(a->table))
        printf("%s AS events", a->table);
    else
        put_name(s, a->table);
    for (int i = 0; i < 2; i++) {
        fputs(i ? "\n  AND " : "\nWHERE ", stdout);
        put_name(s, columns[i]);
        fputs(" IS NOT NULL AND CAST(", stdout);
        put_name(s, columns[i]);
        printf(" AS %s) <> ''", s->e->text);
    }
    fputs("\nGROUP BY 1, 2", stdout);
}

static void put_estimate(const script *s)
{
    puts("-- How many pairs of items there are to count, over all users:\n"
         "-- give the last number to `ease gram sql` as --pairs.\n"
         "WITH ease_pairs AS (");
    put_pairs(s);
    puts("\n)\nSELECT count(*) AS users, sum(n) AS interactions,\n"
         "       CAST(sum(n * (n + 1)) / 2 AS BIGINT) AS pairs\n"
         "FROM (SELECT who, count(*) AS n FROM ease_pairs GROUP BY who) AS histories;");
}

static void put_head(const script *s)
{
    bool spark = s->e == &engines[SPARK];

    fputs("-- The Gram matrix X'X of ", stdout);
    put_plain(s->a->table);
    printf(", for ease, by %s:\n--     %s\n", s->e->name, s->e->run);
    fputs("-- and then\n--     ease gram import ", stdout);
    put_shell_dir(s);
    fputs(s->shards > 1 ? "pairs-*" : "pairs", stdout);
    fputs(spark ? " --items " : ".csv --items ", stdout);
    put_shell_dir(s);
    printf("items%s -o FILE.gram\n", spark ? "" : ".csv");
    puts(
        "--     ease train --gram FILE.gram -o FILE.ease --lambda 500\n"
        "-- For many users, `ease gram sql ... --estimate` first: it tells whether to\n"
        "-- count in shards.\n");
    if (s->e == &engines[POSTGRES])
        puts("\\set ON_ERROR_STOP on\n"
             "SET client_min_messages = warning;\n"
             "-- With less, sorting on disk takes the place of counting in memory.\n"
             "SET work_mem = '512MB';\n"
             "DROP VIEW IF EXISTS pg_temp.ease_gram;\n"
             "DROP TABLE IF EXISTS pg_temp.ease_x, pg_temp.ease_items, "
             "pg_temp.ease_pairs;\n");
}

static void begin_table(const script *s, const char *name)
{
    switch ((engine_kind)(s->e - engines)) {
    case DUCKDB:
        printf("CREATE OR REPLACE TEMP TABLE %s AS\n", name);
        break;
    case POSTGRES:
        printf("CREATE TEMP TABLE %s AS\n", name);
        break;
    case SPARK:
        printf("CREATE OR REPLACE TEMP VIEW %s AS\n", name);
        break;
    }
}

/* Ends a table that is computed once, not for each use. */
static void end_table(const script *s, const char *name)
{
    puts(";");
    if (s->e == &engines[POSTGRES])
        printf("ANALYZE %s;\n", name);
    else if (s->e == &engines[SPARK])
        printf("CACHE TABLE %s;\n", name);
    puts("");
}

static void put_tables(const script *s)
{
    puts("-- Who has what: each pair once, without NULLs and empty ids.");
    begin_table(s, "ease_pairs");
    put_pairs(s);
    end_table(s, "ease_pairs");

    printf("-- The items and their users, numbered %s.\n",
           s->a->order ? "as they were first seen" : "by the bytes of their ids");
    begin_table(s, "ease_items");
    fputs("SELECT CAST(row_number() OVER (ORDER BY ", stdout);
    if (s->a->order)
        fputs("min(seen) NULLS LAST, ", stdout);
    printf("item%s) AS INTEGER) AS number,\n"
           "       item, count(*) AS users\nFROM ease_pairs\nGROUP BY item",
           s->e->by_bytes);
    end_table(s, "ease_items");

    puts("-- The same pairs with numbers: faster to join and to group.");
    begin_table(s, "ease_x");
    fputs("SELECT p.who, i.number", stdout);
    if (s->shards > 1) {
        fputs(", ", stdout);
        /* the format is one of the table above */
        printf(s->e->shard, s->shards); // NOLINT(clang-diagnostic-format-nonliteral)
        fputs(" AS shard", stdout);
    }
    fputs("\nFROM ease_pairs AS p JOIN ease_items AS i ON i.item = p.item", stdout);
    end_table(s, "ease_x");
}

static void put_view(const script *s)
{
    bool shards = s->shards > 1;

    puts("-- The upper triangle with its diagonal: how many users have both items.");
    printf("CREATE %sTEMP VIEW ease_gram AS\n",
           s->e == &engines[POSTGRES] ? "" : "OR REPLACE ");
    printf("SELECT a.item AS item, b.item AS other, g.users AS users%s\n"
           "FROM (SELECT x.number AS i, y.number AS j,%s count(*) AS users\n"
           "      FROM ease_x AS x\n"
           "      JOIN ease_x AS y ON y.who = x.who AND x.number <= y.number%s\n"
           "      GROUP BY x.number, y.number%s) AS g\n"
           "JOIN ease_items AS a ON a.number = g.i\n"
           "JOIN ease_items AS b ON b.number = g.j;\n\n",
           shards ? ", g.shard AS shard" : "", shards ? " x.shard AS shard," : "",
           shards ? " AND y.shard = x.shard" : "", shards ? ", x.shard" : "");
}

/* Writes a query to a file, on one line as \copy requires. shard -1: it is not one
 * of several. */
static void put_copy(const script *s, const char *query, const char *file,
                     int64_t shard)
{
    char number[32] = "";

    if (shard >= 0)
        snprintf(number, sizeof(number), "-%" PRId64, shard);
    switch ((engine_kind)(s->e - engines)) {
    case DUCKDB:
    case POSTGRES:
        printf("%s (%s", s->e == &engines[DUCKDB] ? "COPY" : "\\copy", query);
        if (shard >= 0)
            printf(" WHERE shard = %" PRId64, shard);
        fputs(") TO '", stdout);
        put_dir(s);
        printf("%s%s.csv' %s\n", file, number,
               s->e == &engines[DUCKDB] ? "(FORMAT csv, HEADER);"
                                        : "WITH (FORMAT csv, HEADER)");
        break;
    case SPARK:
        fputs("INSERT OVERWRITE DIRECTORY '", stdout);
        put_dir(s);
        printf("%s%s' USING csv\n"
               "OPTIONS (header '%s', quote '\"', escape '\"',\n"
               "         ignoreLeadingWhiteSpace 'false',\n"
               "         ignoreTrailingWhiteSpace 'false')\n%s",
               file, number, strcmp(file, "items") == 0 ? "true" : "false", query);
        if (shard >= 0)
            printf(" WHERE shard = %" PRId64, shard);
        puts(";");
        break;
    }
}

static void put_copies(const script *s)
{
    static const char query[] = "SELECT item, other, users FROM ease_gram";

    puts("-- The list of items; each line also says how many users there are in all.");
    put_copy(s,
             "SELECT item, users, (SELECT count(DISTINCT who) FROM ease_pairs) AS "
             "all_users FROM ease_items ORDER BY number",
             "items", -1);
    printf("\n-- The pairs%s.\n",
           s->shards > 1 ? ", shard by shard: a user is in one of them" : "");
    if (s->shards == 1)
        put_copy(s, query, "pairs", -1);
    for (int64_t k = 0; k < s->shards && s->shards > 1; k++)
        put_copy(s, query, "pairs", k);
}

/* ---- checks ------------------------------------------------------------------- */

static int check(console *c, const verb *v, const sql_args *a)
{
    const struct {
        const char *option, *value;
    } names[] = {
        {"table", a->table}, {"user", a->user}, {"item", a->item}, {"order", a->order}};

    if (a->engine < 0)
        return usage_error(c, v, "sql: --engine duckdb|postgres|spark is required");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = names[i].value;

        if (!value && i < 3)
            return usage_error(c, v, "sql: --%s is required", names[i].option);
        if (!value || (i == 0 && *value && is_query(value)))
            continue;
        if (!is_name(value))
            return usage_error(c, v,
                               "--%s: '%s' is not a name; one with a dot or "
                               "quotes in it is written in double quotes",
                               names[i].option, value);
    }
    if (a->shards && a->pairs)
        return usage_error(c, v, "--shards and --pairs exclude each other");
    if (a->dir && has_control(a->dir))
        return usage_error(c, v, "--dir: a control character");
    if (a->pairs / PAIRS_A_SHARD >= SHARDS_MOST)
        return usage_error(c, v, "--pairs: more than %d shards", (int)SHARDS_MOST);
    return EXIT_DONE;
}

int print_sql(console *c, const verb *v, const sql_args *a)
{
    script s = {.a = a, .shards = a->shards ? a->shards : 1};
    int code = check(c, v, a);

    if (code)
        return code;
    s.e = &engines[a->engine];
    if (a->pairs)
        s.shards = (a->pairs + PAIRS_A_SHARD - 1) / PAIRS_A_SHARD;
    if (a->estimate) {
        put_estimate(&s);
        return output_flush(c);
    }
    put_head(&s);
    put_tables(&s);
    put_view(&s);
    put_copies(&s);
    return output_flush(c);
}
