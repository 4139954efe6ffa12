/* Writes weights as a sparse matrix of SciPy. */
#ifndef EASE_MODEL_EXPORT_NPZ_H
#define EASE_MODEL_EXPORT_NPZ_H

#include "model/row_reader.h"

/* Writes the weights of the reader's rows as CSR, in the format of
 * scipy.sparse.save_npz. The rows are read three times: for their lengths, their
 * columns and their weights. */
ease_status ease__export_npz(ease__row_reader *r, ease__output *out,
                             const ease_hooks *hooks, ease_error *err);

#endif
