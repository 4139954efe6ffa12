#include "text/roles.h"

#include <string.h>

/* ---- known names -------------------------------------------------------------- */

typedef struct name_list {
    ease__role role;
    ease__tier tier;
    const char *names; /* each between two spaces, without accents */
} name_list;

/* Names in English, German, French, Spanish, Italian, Portuguese and Dutch. Ids are
 * recognized by a prefix or suffix: user_id, kunden_nr, id_cliente. */
static const name_list lists[] = {
    {EASE__ROLE_USER, EASE__TIER_STRONG,
     " user users usr uid customer customers cust client clients member members "
     "visitor visitors account accounts acct reviewer rater person people profile "
     "reader listener viewer player gamer buyer shopper purchaser consumer subscriber "
     "patron borrower student learner patient household guest login "
     "kunde kunden kundin benutzer nutzer anwender kaeufer kaufer mitglied besucher "
     "leser hoerer spieler abonnent haushalt konto "
     "utilisateur utilisateurs acheteur membre visiteur lecteur auditeur abonne compte "
     "usuario usuarios cliente clientes comprador miembro visitante lector cuenta "
     "utente utenti acquirente lettore clienti "
     "gebruiker klant koper lezer bezoeker "},
    {EASE__ROLE_USER, EASE__TIER_WEAK,
     " session sessions sitzung sesion sessione device cookie email mail phone ip "
     "ipaddress family team "},
    {EASE__ROLE_USER, EASE__TIER_LOOSE,
     " invoice order orders basket baskets cart transaction transactions trans tx txn "
     "receipt ticket purchase playlist playlists trip "
     "rechnung bestellung auftrag warenkorb transaktion beleg bon kassenbon einkauf "
     "facture commande panier factura pedido carrito fattura ordine scontrino "
     "bestelling factuur "},
    {EASE__ROLE_ITEM, EASE__TIER_STRONG,
     " item items iid itm product products prod sku skus asin parentasin ean gtin "
     "upc barcode isbn movie movies film films book books track tracks song songs "
     "video "
     "videos recipe recipes joke jokes game games app apps anime manga poi venue "
     "venues "
     "business businesses restaurant gmap article articles package packages repo "
     "repository course courses podcast episode hotel "
     "artikel produkt produkte ware waren buch buecher lied spiel filme rezept kurs "
     "produit produits livre livres jeu chanson recette "
     "producto productos articulo articulos libro libros pelicula juego cancion receta "
     "prodotto prodotti articolo articoli brano gioco ricetta "
     "produto produtos artigo artigos livro "
     "producten boek boeken "},
    {EASE__ROLE_ITEM, EASE__TIER_WEAK,
     " sid stock artist artists album albums place places location locations store "
     "shop "
     "page pages url news story post show content listing offer title titel titre "
     "titulo titolo author subreddit merchant "
     "kuenstler kunstler laden artiste "},
    {EASE__ROLE_ITEM, EASE__TIER_LOOSE,
     " event events category categories brand genre topic keyword "
     "kategorie marke categorie marque categoria marca "},
    {EASE__ROLE_VALUE, EASE__TIER_STRONG,
     " rating ratings stars star score scores overall preference feedback strength "
     "grade userrating bookrating movierating itemrating ratingvalue reviewrating "
     "reviewscore starrating "
     "bewertung bewertungen sterne note puntuacion calificacion valoracion valutazione "
     "avaliacao "},
    {EASE__ROLE_VALUE, EASE__TIER_WEAK,
     " count counts cnt plays playcount listens listencount quantity qty clicks views "
     "viewcount units times frequency freq hours playtime playtimeforever watchtime "
     "hoursplayed purchases "
     "menge anzahl stueck stuck quantite cantidad quantita quantidade aantal "},
    {EASE__ROLE_VALUE, EASE__TIER_LOOSE,
     " value values val weight amount wert valeur valor valore gewicht "},
    {EASE__ROLE_TIME, EASE__TIER_STRONG,
     " timestamp timestamps timestampms time date datetime ts unixtime unixtimestamp "
     "unixreviewtime epoch reviewtime reviewdate ratingtime ratingdate ratingtimestamp "
     "eventtime eventdate eventtimestamp ordertime orderdate invoicedate purchasetime "
     "purchasedate transactiondate transactiontime visittime visitdate createdat "
     "created updatedat updated playedat ratedat listenedat tdat day when "
     "datum zeit zeitpunkt zeitstempel uhrzeit bestelldatum kaufdatum "
     "rechnungsdatum horodatage heure jour fecha fechahora hora dia ora giorno tijd "
     "tijdstip dag "},
    {EASE__ROLE_OTHER, EASE__TIER_STRONG,
     " id row rows rownum rowno rowid rownumber index idx line lineno unnamed record "
     "seq sequence num nr no "
     "country countries city state region province zip zipcode postcode postalcode "
     "land stadt plz ort pays ville pais ciudad paese citta cidade stad "
     "price unitprice cost revenue sales discount currency preis einzelpreis umsatz "
     "rabatt waehrung prix precio prezzo preco prijs "
     "lat latitude lon lng long longitude gender sex age occupation geschlecht alter "
     "eventtype action type typ status platform os browser lang language channel "
     "comment text review reviewtext summary description beschreibung designation "
     "descripcion helpful verified vote votes image images duration log "},
};

enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

/* ---- normalizing ------------------------------------------------------------ */

enum { NAME_CHARS = 40 };

/* U+00C0 .. U+00FF without their accents; a space where there is no letter. */
static const char latin[] =
    "aaaaaaaceeeeiiiidnooooo ouuuuypsaaaaaaaceeeeiiiidnooooo ouuuuypy";

/* Reduces a name to lower case letters and digits. A name that is too long for `to`
 * is unknown: "". */
static void normalize(const ease__field *f, char to[NAME_CHARS])
{
    const char *colon = memchr(f->text, ':', f->length);
    size_t length = colon ? (size_t)(colon - f->text) : f->length, used = 0;

    for (size_t i = 0; i < length; i++) {
        char c = f->text[i];

        if (c == '\xc3' && i + 1 < length && (f->text[i + 1] & 0xc0) == 0x80)
            c = latin[f->text[++i] & 0x3f];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            continue;
        if (used + 1 == NAME_CHARS) {
            used = 0;
            break;
        }
        to[used++] = c;
    }
    to[used] = '\0';
}

/* ---- searching ---------------------------------------------------------------- */

/* The place of a word of `length` < NAME_CHARS letters in a list of names, or NULL.
 * It must be fast: a line of numbers may have 100,000 fields to look up. */
static const char *find_in(const char *names, const char *word, size_t length)
{
    char whole[NAME_CHARS + 2] = " ";
    const char *at;

    memcpy(whole + 1, word, length);
    whole[length + 1] = ' ';
    at = length ? strstr(names, whole) : NULL;
    return at ? at + 1 : NULL;
}

/* ids: restricts the search to users, items, and names that are known to be neither. */
static bool look_up(const char *word, size_t length, bool ids, ease__name_form form,
                    ease__naming *out)
{
    for (int i = 0; i < LISTS; i++) {
        const char *stem;

        if (ids &&
            (lists[i].role == EASE__ROLE_VALUE || lists[i].role == EASE__ROLE_TIME))
            continue;
        stem = find_in(lists[i].names, word, length);
        if (stem) {
            *out = (ease__naming){lists[i].role, lists[i].tier, form, stem};
            return true;
        }
    }
    return false;
}

typedef struct affix {
    const char *text;
    ease__name_form form;
} affix;

static bool look_up_stem(const char *name, ease__naming *out)
{
    static const affix behind[] = {
        {"ids", EASE__FORM_ID},       {"id", EASE__FORM_ID},
        {"key", EASE__FORM_ID},       {"uuid", EASE__FORM_ID},
        {"guid", EASE__FORM_ID},      {"hash", EASE__FORM_ID},
        {"code", EASE__FORM_ID},      {"no", EASE__FORM_PLAIN},
        {"nr", EASE__FORM_PLAIN},     {"num", EASE__FORM_PLAIN},
        {"number", EASE__FORM_PLAIN}, {"nummer", EASE__FORM_PLAIN},
        {"numero", EASE__FORM_PLAIN}, {"idx", EASE__FORM_PLAIN},
        {"index", EASE__FORM_PLAIN},  {"name", EASE__FORM_NAME},
        {"title", EASE__FORM_NAME}};
    static const affix before[] = {
        {"id", EASE__FORM_ID},        {"codigo", EASE__FORM_ID},
        {"codice", EASE__FORM_ID},    {"code", EASE__FORM_ID},
        {"numero", EASE__FORM_PLAIN}, {"nr", EASE__FORM_PLAIN},
        {"no", EASE__FORM_PLAIN}};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        size_t cut = strlen(behind[i].text);

        if (length > cut && strcmp(name + length - cut, behind[i].text) == 0 &&
            look_up(name, length - cut, true, behind[i].form, out))
            return true;
    }
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        size_t cut = strlen(before[i].text);

        if (length > cut && strncmp(name, before[i].text, cut) == 0 &&
            look_up(name + cut, length - cut, true, before[i].form, out))
            return true;
    }
    return false;
}

/* True for `webtoon_id`, `webtoonId` and `webtoonID`, not for `paid`. */
static bool ends_with_id(const ease__field *f)
{
    const char *colon = memchr(f->text, ':', f->length);
    size_t n = colon ? (size_t)(colon - f->text) : f->length;
    char before, i;

    if (n < 3 || (f->text[n - 1] != 'd' && f->text[n - 1] != 'D'))
        return false;
    i = f->text[n - 2];
    before = f->text[n - 3];
    if (i == 'I')
        return !(before >= 'A' && before <= 'Z');
    return i == 'i' && strchr("_-. ", before);
}

ease__naming ease__name_role(const ease__field *f)
{
    ease__naming found = {.form = EASE__FORM_PLAIN};
    char name[NAME_CHARS];

    normalize(f, name);
    if (!look_up(name, strlen(name), false, EASE__FORM_PLAIN, &found) &&
        !look_up_stem(name, &found) && ends_with_id(f))
        found.form = EASE__FORM_ID;
    return found;
}

bool ease__names_no_number(const ease__field *f)
{
    char name[NAME_CHARS];

    normalize(f, name);
    return strcmp(name, "nan") == 0 || strcmp(name, "inf") == 0 ||
           strcmp(name, "infinity") == 0;
}

int ease__names_title(const ease__field *f)
{
    char name[NAME_CHARS];

    normalize(f, name);
    if (strcmp(name, "title") == 0 || strcmp(name, "name") == 0)
        return 2;
    return strstr(name, "title") || strstr(name, "name") ? 1 : 0;
}

bool ease__names_tag(const ease__field *f)
{
    static const char tags[] =
        " genre genres tag tags author authors category categories keyword keywords "
        "topic topics subject subjects artist artists actor actors director directors "
        "brand brands label labels style styles feature features class "
        "kategorie kategorien schlagwort schlagworte autor autoren marke kuenstler "
        "categorie auteur auteurs marque categoria categorias autores etiqueta "
        "etiquetas genere generi genero generos ";
    static const char *const behind[] = {"names", "name", "list", "ids", "id"};
    char name[NAME_CHARS];
    size_t length;

    normalize(f, name);
    length = strlen(name);
    if (find_in(tags, name, length))
        return true;
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        size_t cut = strlen(behind[i]);

        if (length > cut && strcmp(name + length - cut, behind[i]) == 0 &&
            find_in(tags, name, length - cut))
            return true;
    }
    return false;
}
