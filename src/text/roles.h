/* The meaning of a column by its name. */
#ifndef EASE_TEXT_ROLES_H
#define EASE_TEXT_ROLES_H

#include "text/fields.h"

typedef enum ease__role {
    EASE__ROLE_UNKNOWN,
    EASE__ROLE_USER,
    EASE__ROLE_ITEM,
    EASE__ROLE_VALUE,
    EASE__ROLE_TIME,
    EASE__ROLE_OTHER /* known to be none of these: a country, a price, a row number */
} ease__role;

/* How well a column of this name fits its role. */
typedef enum ease__tier {
    EASE__TIER_LOOSE, /* a last resort: an invoice as the user */
    EASE__TIER_WEAK,  /* a session as the user, an artist as the item */
    EASE__TIER_STRONG
} ease__tier;

/* True if the name says that the column contains names or ids. */
typedef enum ease__name_form {
    EASE__FORM_NAME,  /* user_name, productTitle */
    EASE__FORM_PLAIN, /* user */
    EASE__FORM_ID     /* user_id, KundenNr; also if the rest of the name is unknown */
} ease__name_form;

typedef struct ease__naming {
    ease__role role;
    ease__tier tier;
    ease__name_form form;
    const char *stem; /* of a known name: the same for user, user_id and UserName */
} ease__naming;

/* The role that a column's name suggests. Case, accents, separators and a RecBole
 * type (`:token`) are ignored. */
ease__naming ease__name_role(const ease__field *name);

/* True for "nan", "inf" and the like, which other programs read as numbers. */
bool ease__names_no_number(const ease__field *f);

/* Returns whether a column of this name contains titles. 2: yes; 1: a kind of title;
 * 0: no. */
int ease__names_title(const ease__field *name);

/* True if a column of this name contains tags: genres, authors, category_name. */
bool ease__names_tag(const ease__field *name);

#endif
