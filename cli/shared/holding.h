/* Data without a split: held-out users are drawn. And all data of a split. */
#ifndef EASE_CLI_SHARED_HOLDING_H
#define EASE_CLI_SHARED_HOLDING_H

#include "options.h"

/* Divides interactions for tuning `method`, and notes how: a tenth of the users
 * (at most 10,000) for validation and as many for testing, as liang18 does; for methods
 * that score only known users a share of each user's items. Close *out with
 * ease_split_close. */
int hold_users_out(console *c, const ease_interactions *x,
                   const ease_method_info *method, ease_split_parts *out);

/* Makes the union of all parts of a split: the data that was divided. */
int join_split(console *c, const ease_split_parts *parts, ease_interactions **out);

#endif
