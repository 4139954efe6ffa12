/* The data sets of the paper in their original form: finds the data in a directory. */
#ifndef EASE_INPUT_DATASETS_H
#define EASE_INPUT_DATASETS_H

#include "input/input.h"

/* Opens a file, the files that match a pattern, or the one data set in its original
 * form in a directory:
 *
 *     ratings.csv, ratings.dat               MovieLens
 *     train_triplets.txt                     the Million Song Dataset's taste profiles
 *     training_set/mv_0000001.txt ...        the Netflix Prize, also without the folder
 *     combined_data_1.txt ... _4.txt         the same, as distributed by Kaggle
 *
 * each plain or compressed, with .gz, .zst or (the first three) .zip at its name.
 * *is_series is set if the data is one of the last two, a series of numbered files;
 * with series_alone only these are looked for. A directory with none of them is opened
 * as parts, see input/parts.h, and so are `path` and `more` together, if `more` (ended
 * by NULL) has files. hooks may be NULL. Fails with EASE_E_IO (also if a file of a
 * series is missing) and EASE_E_DATA (no such data, or more than one). */
ease_status ease__data_open(const char *path, const char *const *more,
                            bool series_alone, const ease_hooks *hooks,
                            ease__input **out, bool *is_series, ease_error *err);

/* True if the last component of the path is the name of a data set that is a single
 * file. */
bool ease__names_data(const char *path);

#endif
