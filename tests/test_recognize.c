/* Recognition of the columns for user, item, value and time, and refusal of unlikely
 * guesses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/* ---- tables to be recognized -------------------------------------------------- */

enum { ROWS = 120, CELL = 32, MOST_COLUMNS = 10 };

/* A value of row k of a column of some kind. */
static void put_cell(char kind, int k, char to[CELL])
{
    static const char *const few[] = {"DE", "FR", "IT"};

    switch (kind) {
    case 'u': /* ids that come again */
        snprintf(to, CELL, "%d", 100 + k * 7 % 23);
        break;
    case 'i':
        snprintf(to, CELL, "A%03d", k * 11 % 31);
        break;
    case 's':
        snprintf(to, CELL, "s%d", k * 5 % 29);
        break;
    case 'U': /* sorted by user */
        snprintf(to, CELL, "%d", 100 + k / 30);
        break;
    case 'N': /* the name of 'u' */
        snprintf(to, CELL, "Ann %d", 100 + k * 7 % 23);
        break;
    case 'n': /* another one in each row */
        snprintf(to, CELL, "%d", k);
        break;
    case 't':
        snprintf(to, CELL, "%d", 1700000000 + 60 * k);
        break;
    case 'T': /* ids that look like times */
        snprintf(to, CELL, "%d", 1000000000 + k * 7 % 23);
        break;
    case 'm':
        snprintf(to, CELL, "%lld", 1433221332117LL + k);
        break;
    case 'd':
        snprintf(to, CELL, "2024-01-%02d", k % 28 + 1);
        break;
    case 'D':
        snprintf(to, CELL, "%d/%d/2010 8:26", k % 12 + 1, k % 28 + 1);
        break;
    case 'p':
        snprintf(to, CELL, "202401%02d", k % 28 + 1);
        break;
    case 'c':
        snprintf(to, CELL, "%s", few[k * k % 3]);
        break;
    case 'r':
        snprintf(to, CELL, "%d", k % 5 + 1);
        break;
    case 'f':
        snprintf(to, CELL, "%d.%d", k % 90, k % 9 + 1);
        break;
    case 'x':
        snprintf(to, CELL, "x");
        break;
    default: /* '-': missing */
        to[0] = '\0';
    }
}

/* kinds "uir": a column for each. A CSV; header NULL: without one. */
static const char *table_text(const char *header, const char *kinds, int rows)
{
    static char text[ROWS * MOST_COLUMNS * CELL + 256];
    size_t used = header ? (size_t)snprintf(text, sizeof(text), "%s\n", header) : 0;

    for (int k = 0; k < rows; k++)
        for (size_t c = 0; kinds[c]; c++) {
            char cell[CELL];

            put_cell(kinds[c], k, cell);
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", cell,
                                     kinds[c + 1] ? "," : "\n");
        }
    return text;
}

/* The same by ease_columns_recognize. */
static ease_status recognize(const char *header, const char *kinds, int rows,
                             ease_columns *out, ease_error *err)
{
    static char cells[ROWS * MOST_COLUMNS][CELL];
    const char *values[ROWS * MOST_COLUMNS], *names[MOST_COLUMNS];
    int count = (int)strlen(kinds), n = 0;
    char copy[256];
    char *rest = NULL;

    snprintf(copy, sizeof(copy), "%s", header ? header : "");
    for (char *w = strtok_r(copy, ",", &rest); w; w = strtok_r(NULL, ",", &rest))
        names[n++] = w;
    for (int k = 0; k < rows * count; k++) {
        put_cell(kinds[k % count], k / count, cells[k]);
        values[k] = cells[k][0] ? cells[k] : NULL;
    }
    return ease_columns_recognize(header ? names : NULL, count, values, rows, NULL, out,
                                  err);
}

static void check_columns(test *t, const char *header, const char *kinds,
                          const char *want)
{
    ease_columns c = {.size = sizeof(c), .user = -2};
    ease_error err = {0};

    if (!check_status(t, recognize(header, kinds, ROWS, &c, &err), EASE_OK))
        printf("    %s: %s\n", header ? header : kinds, err.text);
    else if (!check_text(t, c.words, want))
        printf("    %s\n", header ? header : kinds);
}

/* ---- by name -------------------------------------------------------------------- */

static void names_are_known_in_several_languages(test *t)
{
    static const struct {
        const char *header, *kinds, *want;
    } tables[] = {
        {"Datum,Kunde,Artikel,Menge", "duir",
         "user = Kunde, item = Artikel, value = Menge, time = Datum"},
        {"event_id,ts,country,sku,client", "ntciu",
         "user = client, item = sku, time = ts"},
        {"produit,client", "iu", "user = client, item = produit"},
        {"producto_id,usuario,valoracion,fecha", "iurd",
         "user = usuario, item = producto_id, value = valoracion, time = fecha"},
        {"id_cliente,codice_prodotto", "ui",
         "user = id_cliente, item = codice_prodotto"},
        {"Kunden-Nr,Käufer,Artikel Nr", "uNi", "user = Kunden-Nr, item = Artikel Nr"},
        {"quantité,Abonné,Livre", "rui",
         "user = Abonné, item = Livre, value = quantité"},
        {"klant,boek,aantal", "uir", "user = klant, item = boek, value = aantal"},
        {"book_id,user_id,rating", "iur",
         "user = user_id, item = book_id, value = rating"},
        {"userId,movieId,tag,timestamp", "uist",
         "user = userId, item = movieId, time = timestamp"},
        {"timestamp,visitorid,event,itemid,transactionid", "muci-",
         "user = visitorid, item = itemid, time = timestamp"},
        {"reviewerID,asin,reviewerName,overall,unixReviewTime", "uiNrt",
         "user = reviewerID, item = asin, value = overall, time = unixReviewTime"},
        {"review_id,user_id,business_id,stars,text,date", "nuirnd",
         "user = user_id, item = business_id, value = stars, time = date"},
        {"user_id,artist_id,track_id,plays", "usir",
         "user = user_id, item = track_id, value = plays"},
        {"user_id:token,item_id:token,rating:float", "uir",
         "user = user_id:token, item = item_id:token, value = rating:float"},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        check_columns(t, tables[i].header, tables[i].kinds, tables[i].want);
}

static void a_basket_is_the_user_where_there_is_no_other(test *t)
{
    check_columns(t, "InvoiceNo,StockCode", "ui", "user = InvoiceNo, item = StockCode");
    check_columns(
        t, "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID",
        "sinrDfu",
        "user = CustomerID, item = StockCode, value = Quantity, time = InvoiceDate");
    check_columns(t, "order_id,product_id,order_number,reordered", "uirr",
                  "user = order_id, item = product_id");
    check_columns(t, "household_key,BASKET_ID,DAY,PRODUCT_ID,QUANTITY", "usrir",
                  "user = household_key, item = PRODUCT_ID, value = QUANTITY, "
                  "time = DAY");
    check_columns(t, "session_id,item_id", "ui", "user = session_id, item = item_id");
    check_columns(t, "session_id,user_id,item_id", "sui",
                  "user = user_id, item = item_id");
}

static void a_value_that_is_no_number_is_none(test *t)
{
    check_columns(t, "user,item,feedback", "uic", "user = user, item = item");
    check_columns(t, "user,item,amount,rating", "ui-r",
                  "user = user, item = item, value = rating");
}

/* ---- by values and order -------------------------------------------------------- */

static void without_a_header_order_counts(test *t)
{
    check_columns(t, NULL, "ui", "user = column 1, item = column 2");
    check_columns(t, NULL, "iu", "user = column 1, item = column 2");
    check_columns(t, NULL, "uirt",
                  "user = column 1, item = column 2, value = column 3, time = column "
                  "4");
    check_columns(t, NULL, "uirn",
                  "user = column 1, item = column 2, value = column 3, time = column "
                  "4");
    check_columns(t, NULL, "uis", "user = column 1, item = column 2");
}

static void times_are_neither_ids_nor_values(test *t)
{
    check_columns(t, NULL, "uit", "user = column 1, item = column 2, time = column 3");
    check_columns(t, NULL, "uid", "user = column 1, item = column 2, time = column 3");
    check_columns(t, NULL, "uip", "user = column 1, item = column 2, time = column 3");
    check_columns(t, NULL, "uimr",
                  "user = column 1, item = column 2, value = column 4, time = column "
                  "3");
    check_columns(t, NULL, "tui", "user = column 2, item = column 3, time = column 1");
    /* User, time, latitude, longitude, place. */
    check_columns(t, NULL, "udffi",
                  "user = column 1, item = column 5, time = column 2");
    check_columns(t, "what,who", "du", "user = who, item = what");
}

static void ids_that_look_like_times_are_not_passed_over(test *t)
{
    static const char *const tables[] = {"Tir", "Tirt"};
    ease_columns c = {.size = sizeof(c)};
    ease_error err = {0};

    check_columns(t, NULL, "Ti", "user = column 1, item = column 2");
    check_columns(t, NULL, "iT", "user = column 1, item = column 2");
    check_columns(t, NULL, "TT", "user = column 1, item = column 2");
    check_columns(t, "asiakas,tuote", "Ti", "user = asiakas, item = tuote");
    check_columns(t, "user_id,item_id,rating", "Tir",
                  "user = user_id, item = item_id, value = rating");
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        check_status(t, recognize(NULL, tables[i], ROWS, &c, &err), EASE_E_ARG);
        check_contains(t, err.text, "columns '2,3' or columns '1,2'");
    }
    /* Another one in each row, but what else would be the item is a rating. */
    check_status(t, recognize(NULL, "utr", ROWS, &c, &err), EASE_E_ARG);
    check_contains(t, err.text, "columns '1,3' or columns '1,2'");
}

static void names_that_are_not_known_go_by_their_values(test *t)
{
    check_columns(t, "asiakas,tuote", "ui", "user = asiakas, item = tuote");
    check_columns(t, "tapahtuma,asiakas,tuote", "nui", "user = asiakas, item = tuote");
    check_columns(t, "kauppa,asiakas,tuote", "xui", "user = asiakas, item = tuote");
    check_columns(t, "maa,asiakas,tuote", "cui", "user = asiakas, item = tuote");
    check_columns(t, "asiakas,tuote,maa", "Uic", "user = asiakas, item = tuote");
    check_columns(t, "asiakas,tuote,pvm,maara", "uidr",
                  "user = asiakas, item = tuote, value = maara, time = pvm");
    check_columns(t, "reader,nick,webtoon_id", "usi",
                  "user = reader, item = webtoon_id");
    check_columns(t, "client,country", "uc", "user = client, item = country");
}

static void another_reading_that_is_as_likely_is_refused(test *t)
{
    ease_columns c = {.size = sizeof(c), .user = -2};
    ease_error err = {0};

    check_status(t, recognize("customer_id,account_id,product", "usi", ROWS, &c, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "columns 'customer_id,product'");
    check_contains(t, err.text, "columns 'account_id,product'");
    check_status(t, recognize("user,song,book", "uis", ROWS, &c, &err), EASE_E_ARG);
    check_contains(t, err.text, "columns 'user,song' or columns 'user,book'");
    check_status(t, recognize("asiakas,tuote,kauppa", "uis", ROWS, &c, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "columns 'asiakas,tuote'");
    check_status(t, recognize("user,tuote,kauppa", "uis", ROWS, &c, &err), EASE_E_ARG);
    check_contains(t, err.text, "columns 'user,tuote' or columns 'user,kauppa'");
    check_int(t, c.user, -2);
    /* Names for the same thing, and a column that says nothing, are no rivals. */
    check_columns(t, "user_id,customer,item", "uNi", "user = user_id, item = item");
    check_columns(t, "account,customer,item", "xui", "user = customer, item = item");
}

static void a_table_without_two_columns_is_refused(test *t)
{
    const char *none[] = {NULL};
    ease_columns c = {.size = sizeof(c)};
    ease_error err = {0};

    check_status(t, recognize("user", "u", ROWS, &c, NULL), EASE_E_PARSE);
    check_status(t, recognize("user,rating", "ur", ROWS, &c, &err), EASE_E_PARSE);
    check_contains(t, err.text,
                   "recognized as the item: name the columns, such as "
                   "columns 'user,rating'");
    check_status(t, recognize("date,item", "di", ROWS, &c, &err), EASE_E_PARSE);
    check_contains(t, err.text,
                   "the user: name the columns, such as columns "
                   "'date,item'");
    check_status(t, recognize("item,date", "id", ROWS, &c, &err), EASE_E_PARSE);
    check_contains(t, err.text, "columns 'date,item'");
    check_status(t, ease_columns_recognize(NULL, 0, none, 0, NULL, &c, NULL),
                 EASE_E_ARG);
    check_status(t, ease_columns_recognize(NULL, 2, NULL, 1, NULL, &c, NULL),
                 EASE_E_ARG);
    check_status(t, ease_columns_recognize(NULL, 2, NULL, 0, NULL, &c, NULL), EASE_OK);
}

static void recognizing_survives_every_failed_allocation(test *t)
{
    ease_status status = EASE_E_NOMEM;
    ease_columns c = {.size = sizeof(c)};

    for (int n = 0; status == EASE_E_NOMEM && n < 100; n++) {
        alloc_fail_after(n);
        status = recognize("a,b,c", "uir", ROWS, &c, NULL);
        alloc_fail_after(-1);
    }
    check_status(t, status, EASE_OK);
}

/* ---- files ----------------------------------------------------------------------- */

static ease_interactions *read_table(test *t, const char *header, const char *kinds,
                                     const ease_read_options *o)
{
    const char *path = test_path("table.csv");
    ease_interactions *x = NULL;
    ease_error err = {0};

    test_write_text(path, table_text(header, kinds, ROWS));
    if (!check_status(t, ease_interactions_read(path, o, &x, &err), EASE_OK))
        printf("    %s\n", err.text);
    return x;
}

static void files_are_recognized_alike(test *t)
{
    static const struct {
        const char *header, *kinds, *want;
    } tables[] = {
        {"Datum,Kunde,Artikel,Menge", "duir",
         "CSV with header: user = Kunde, item = Artikel, value = Menge"},
        {"event_id,ts,country,sku,client", "ntciu",
         "CSV with header: user = client, item = sku"},
        {"produit,client", "iN", "CSV with header: user = client, item = produit"},
        {"wann,wer,was", "dNi", "CSV with header: user = wer, item = was"},
        {NULL, "uit", "CSV without header: user = column 1, item = column 2"},
        {NULL, "dui", "CSV without header: user = column 2, item = column 3"},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        ease_interactions *x = read_table(t, tables[i].header, tables[i].kinds, NULL);

        if (x)
            check_text(t, interactions_info(x).recognized, tables[i].want);
        ease_interactions_free(x);
    }
}

static void a_time_is_not_compared_with_a_rating(test *t)
{
    const char *path = test_path("table.csv");
    ease_interactions *x = NULL;
    ease_read_options o;
    ease_error err = {0};

    ease_read_options_init(&o);
    o.min_rating = 4.0;
    test_write_text(path, table_text(NULL, "uit", ROWS));
    check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_E_ARG);
    check_contains(t, err.text, "needs a column of values");
    check_contains(t, err.text, "time = column 3");
    x = read_table(t, NULL, "uitr", &o);
    check_int(t, interactions_info(x).below_rating, ROWS * 3 / 5);
    ease_interactions_free(x);
}

static void values_that_are_not_used_are_counted(test *t)
{
    static const char mtx[] =
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 -2\n1 2 1\n2 1 5\n";
    static const char movies[] = "1:\n5,1,2003-12-26\n6,4,2003-12-26\n";
    static const struct {
        const char *text;
        int64_t unused, negative;
    } files[] = {
        {"user,item,value\na,x,1\na,y,1\nb,x,1\n", 0, 0},
        {"user,item,value\na,x,1\na,y,-1\nb,x,-0.5\nb,y,3\n", 3, 2},
        {"a,x,5\na,y,-1\n", 2, 1},
        {mtx, 2, 1},
        {movies, 1, 0},
    };
    const char *path = test_path("values");

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        for (int used = 0; used < 3; used++) {
            ease_interactions *x = NULL;
            ease_interactions_info info = {.size = sizeof(info)};
            ease_read_options o;

            ease_read_options_init(&o);
            o.weights = used == 1;
            o.min_rating = used == 2 ? -10.0 : (double)NAN;
            test_write_text(path, files[i].text);
            if (!check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_OK))
                continue;
            info = interactions_info(x);
            check_int(t, info.unused, used ? 0 : files[i].unused);
            check_int(t, info.negative, used ? 0 : files[i].negative);
            ease_interactions_free(x);
        }
}

/* ---- doubts ---------------------------------------------------------------------- */

static void check_doubt(test *t, const char *header, const char *kinds,
                        const char *columns, const char *doubt, const char *instead)
{
    ease_read_options o;
    ease_interactions *x;
    ease_interactions_info info = {.size = sizeof(info)};

    ease_read_options_init(&o);
    o.columns = columns;
    o.columns_option = "--columns ";
    x = read_table(t, header, kinds, &o);
    if (!x)
        return;
    info = interactions_info(x);
    check_contains(t, info.doubt ? info.doubt : "none", doubt ? doubt : "none");
    if (doubt && info.doubt) {
        check_contains(t, info.doubt, instead);
        check_contains(t, info.doubt, "table.csv: ");
    }
    ease_interactions_free(x);
}

static void unlikely_guesses_are_doubted(test *t)
{
    check_doubt(t, NULL, "xui", NULL, "all rows are of one user",
                "such as --columns '2,3', or --columns '1,2' if the guess is right");
    check_doubt(t, NULL, "uxi", NULL, "all rows are of one item", "--columns '1,3'");
    check_doubt(t, NULL, "nu", NULL, "each user has one row only", "--columns '2,1'");
    check_doubt(t, "asiakas,tuote", "nu", NULL, "each user has one row only",
                "--columns 'tuote,asiakas', or --columns 'asiakas,tuote'");
    check_doubt(t, "invoice,sku", "ni", NULL, "each user has one row only",
                "--columns 'sku,invoice'");
    check_doubt(t, "client,asia", "ux", NULL, "all rows are of one item", "--columns");
    /* Names that cannot be typed as they are: numbers. */
    check_doubt(t, "\"a,b\",2nd", "nu", NULL, "each user has one row only",
                "--columns '2,1'");
}

static void what_was_said_is_not_doubted(test *t)
{
    check_doubt(t, NULL, "nu", "1,2", NULL, NULL);
    check_doubt(t, NULL, "xu", "1,2", NULL, NULL);
    check_doubt(t, "user,item", "nu", NULL, NULL, NULL);
    check_doubt(t, "user,item", "xu", NULL, NULL, NULL);
    check_doubt(t, "user,item", "ux", NULL, NULL, NULL);
    check_doubt(t, "client,asia", "xu", NULL, NULL, NULL);
    check_doubt(t, NULL, "ui", NULL, NULL, NULL);
    check_doubt(t, NULL, "Ui", NULL, NULL, NULL);
}

static void nothing_is_learned_from_an_unlikely_guess(test *t)
{
    ease_interactions *x = read_table(t, NULL, "nu", NULL);
    ease_train_options o;
    ease_split_options s;
    ease_tune_options tune;
    ease_model *m = NULL;
    ease_gram *g = NULL;
    ease_tuning *tuning = NULL;
    ease_error err = {0};
    char dir[400];

    ease_train_options_init(&o);
    o.lambda = 1.0;
    check_status(t, ease_train(x, &o, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "columns '2,1'");
    check_status(t, train_method(x, "item-item", NULL, &m, NULL), EASE_E_ARG);
    check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_E_ARG);
    ease_tune_options_init(&tune);
    check_status(t, ease_tune(x, x, x, &tune, &tuning, NULL), EASE_E_ARG);
    ease_split_options_init(&s);
    s.protocol = "random";
    snprintf(dir, sizeof(dir), "%s", test_path("split"));
    check_status(t, ease_split(test_path("table.csv"), NULL, &s, dir, NULL, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "columns '2,1'");
    check(t, access(dir, F_OK) != 0);
    ease_interactions_free(x);
}

static void columns_in_memory_are_doubted_too(test *t)
{
    int64_t users[ROWS], items[ROWS];
    ease_id_column u = {.numbers = users}, i = {.numbers = items};
    ease_interactions *x = NULL;
    ease_interactions_info info = {.size = sizeof(info)};
    ease_read_options o;
    ease_columns guess = {.size = sizeof(guess)};

    ease_read_options_init(&o);
    check_status(t, recognize("a,b", "nu", ROWS, &guess, NULL), EASE_OK);
    o.guess = &guess;
    for (int k = 0; k < ROWS; k++) {
        users[k] = k;
        items[k] = k % 7;
    }
    check_status(t, ease_interactions_from_table(ROWS, &u, &i, NULL, &o, &x, NULL),
                 EASE_OK);
    info = interactions_info(x);
    check_text(t, info.recognized, "table: user = a, item = b");
    check_contains(t, info.doubt ? info.doubt : "none", "table: each user has one row");
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(names_are_known_in_several_languages),
    TEST(a_basket_is_the_user_where_there_is_no_other),
    TEST(a_value_that_is_no_number_is_none),
    TEST(without_a_header_order_counts),
    TEST(times_are_neither_ids_nor_values),
    TEST(ids_that_look_like_times_are_not_passed_over),
    TEST(names_that_are_not_known_go_by_their_values),
    TEST(another_reading_that_is_as_likely_is_refused),
    TEST(a_table_without_two_columns_is_refused),
    TEST(recognizing_survives_every_failed_allocation),
    TEST(files_are_recognized_alike),
    TEST(a_time_is_not_compared_with_a_rating),
    TEST(values_that_are_not_used_are_counted),
    TEST(unlikely_guesses_are_doubted),
    TEST(what_was_said_is_not_doubted),
    TEST(nothing_is_learned_from_an_unlikely_guess),
    TEST(columns_in_memory_are_doubted_too),
};
TEST_MAIN(cases)
