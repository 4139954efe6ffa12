/* The command that trains a model with what was found by tuning. */
#ifndef EASE_CLI_SHARED_TRAINCOMMAND_H
#define EASE_CLI_SHARED_TRAINCOMMAND_H

#include "options.h"

/* Makes "ease train DATA -o model.ease --lambda 120 ..." for the shell: with the
 * options of `args` (of the verb that tuned) that `train` has too, the method and the
 * trial. `data` and `output` may be NULL. The caller frees it; NULL: no memory. */
char *train_command(const common_args *args, const verb *train, const char *data,
                    const char *output, const char *method, const ease_trial *trial);

#endif
