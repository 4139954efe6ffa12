/* recommend --follow: requests on standard input, answers on standard output, a line of
 * JSON each. */
#ifndef EASE_CLI_SHARED_FOLLOWING_H
#define EASE_CLI_SHARED_FOLLOWING_H

#include "userdata.h"

/* What requests are answered with. */
typedef struct following {
    const ease_model *model;
    /* Of the command line. k, keep_seen and popularity_power hold for requests that do
     * not set them; what a list may contain (allowed, caps) holds for every request. */
    const ease_recommend_options *o;
    int64_t reasons;
    user_data *data; /* of users that requests may name; its x is NULL: there is none */
    user_data *denied; /* items denied to users; the same */
} following;

/* Answers every line, until the end of the input. Each answer is written before the
 * next line is read. Returns 0, or the exit code after a message. */
int follow(console *c, const following *f);

#endif
