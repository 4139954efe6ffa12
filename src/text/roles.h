/* What the name of a column says about its meaning. */
#ifndef EASE_TEXT_ROLES_H
#define EASE_TEXT_ROLES_H

#include "text/fields.h"

typedef enum ease__role {
    EASE__ROLE_UNKNOWN,
    EASE__ROLE_USER,
    EASE__ROLE_ITEM,
    EASE__ROLE_VALUE,
    EASE__ROLE_TIME,
    EASE__ROLE_OTHER /* known to be none of them: a country, a price, a row number */
} ease__role;

/* How good a candidate for its role a column of this name is. */
typedef enum ease__tier {
    EASE__TIER_LOOSE, /* it may serve if nothing else does: an invoice as the user */
    EASE__TIER_WEAK,  /* a session as the user, an artist as the item */
    EASE__TIER_STRONG
} ease__tier;

typedef enum ease__name_form {
    EASE__FORM_NAME, /* user_name, productTitle */
    EASE__FORM_PLAIN,
    EASE__FORM_ID /* user_id, KundenNr; also of a name that is not known */
} ease__name_form;

typedef struct ease__naming {
    ease__role role;
    ease__tier tier;
    ease__name_form form;
    const char *stem; /* of a known name: the same for user, user_id and UserName */
} ease__naming;

/* Case, accents, separators and a RecBole type (`:token`) do not matter. */
ease__naming ease__name_role(const ease__field *name);

/* Whether the text reads as "nan" or "inf": a number in other programs. */
bool ease__names_no_number(const ease__field *f);

/* Is it what a header calls a title? 2: exactly so, 1: a kind of title, 0: no. */
int ease__names_title(const ease__field *name);

#endif
