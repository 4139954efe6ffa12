/* SciPy's sparse CSR matrices, as scipy.sparse.save_npz writes them: rows are users,
 * columns are items, ids are their numbers from 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "input/npy.h"
#include "input/zip.h"
#include "read/layout.h"
#include "read/readers.h"

enum { PART_BYTES = 1 << 18 };

/* A zip file: those with one text in them are unpacked by the input already. */
static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    (void)err;
    *is = r->sample_bytes >= 4 &&
          (memcmp(r->sample, "PK\3\4", 4) == 0 || memcmp(r->sample, "PK\5\6", 4) == 0);
    return EASE_OK;
}

/* ---- one array ------------------------------------------------------------- */

typedef struct array {
    ease__member member;
    const char *name; /* of the input */
    ease__npy form;
    size_t count; /* elements; 1 for a scalar */
    unsigned char *part;
    size_t part_at, part_end;
} array;

static ease_status bad_array(const array *a, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_PARSE, "%s: %s: %s", a->name, a->member.name, what);
}

static ease_status member_source(void *from, void *to, size_t bytes, ease_error *err)
{
    return ease__member_read(from, to, bytes, err);
}

static ease_status read_head(array *a, ease_error *err)
{
    char name[256];
    ease_status status;

    snprintf(name, sizeof(name), "%.180s: %.60s", a->name, a->member.name);
    status = ease__npy_head(member_source, &a->member, name, &a->form, err);
    if (status)
        return status;
    if (a->form.dimensions > 1)
        return bad_array(a, "an array of a kind that is not read here", err);
    a->count = a->form.shape[0];
    if (ease__size_mul(a->count, a->form.size) > a->member.bytes)
        return bad_array(a, "an array that is cut", err);
    return EASE_OK;
}

static void close_array(array *a)
{
    ease__member_close(&a->member);
    ease__free(a->part);
    *a = (array){0};
}

/* Opens an array of the zip file; close it in any case. */
static ease_status open_array(const ease__zip *z, const char *name, array *a,
                              ease_error *err)
{
    bool found;
    ease_status status;

    *a = (array){.name = z->name};
    status = ease__member_open(z, name, &a->member, &found, err);
    if (!status && !found)
        status = ease__fail(err, EASE_E_PARSE,
                            "%s: a zip file, but no sparse matrix of SciPy: no %s",
                            z->name, name);
    if (status)
        return status;
    a->part = ease__alloc_array(PART_BYTES, 1);
    return a->part ? read_head(a, err)
                   : ease__fail(err, EASE_E_NOMEM, "reading %s", z->name);
}

/* The bytes of the next element; the caller knows how many there are. */
static ease_status next_element(array *a, const unsigned char **out, ease_error *err)
{
    if (a->part_at == a->part_end) {
        size_t whole = PART_BYTES / a->form.size * a->form.size;
        size_t left = a->count * a->form.size;
        ease_status status;

        if (left < whole)
            whole = left;
        status = ease__member_read(&a->member, a->part, whole, err);
        if (status)
            return status;
        a->count -= whole / a->form.size;
        a->part_at = 0;
        a->part_end = whole;
    }
    *out = a->part + a->part_at;
    a->part_at += a->form.size;
    return EASE_OK;
}

/* ---- the matrix ------------------------------------------------------------ */

typedef struct npz {
    ease__zip zip;
    ease__input *in;
    const ease_read_options *o;
    ease_interactions *x;
    int64_t rows, columns;
} npz;

/* Reads a scalar string: of bytes, or of characters of 4 bytes. */
static ease_status read_word(array *a, char text[100], ease_error *err)
{
    size_t step = a->form.kind == 'U' ? 4 : 1, length = a->form.size;
    const unsigned char *p = NULL;
    ease_status status;

    if (a->count != 1 || (a->form.kind != 'S' && a->form.kind != 'U') || length > 20 ||
        step * length > a->member.bytes)
        return bad_array(a, "not a word", err);
    a->form.size = step * length;
    status = next_element(a, &p, err);
    for (size_t i = 0; !status && i < length; i++)
        text[i] = (char)p[step * i];
    return status;
}

static ease_status check_format(const npz *n, ease_error *err)
{
    array a = {0};
    char text[100] = "";
    ease_status status = open_array(&n->zip, "format.npy", &a, err);

    if (!status)
        status = read_word(&a, text, err);
    if (!status && strcmp(text, "csr") != 0)
        status = ease__fail(err, EASE_E_PARSE,
                            "%s: a SciPy matrix of format '%.8s': save it as CSR "
                            "(x.tocsr())",
                            n->zip.name, text);
    close_array(&a);
    return status;
}

static ease_status read_shape(npz *n, ease_error *err)
{
    array a = {0};
    const unsigned char *p;
    ease_status status = open_array(&n->zip, "shape.npy", &a, err);

    if (!status && (a.count != 2 || !ease__npy_is_integer(&a.form)))
        status = bad_array(&a, "not two integers", err);
    for (int i = 0; !status && i < 2; i++) {
        status = next_element(&a, &p, err);
        if (!status)
            *(i ? &n->columns : &n->rows) = ease__npy_integer(&a.form, p);
    }
    if (!status && (n->rows < 0 || n->columns < 0))
        status = bad_array(&a, "a size below zero", err);
    close_array(&a);
    return status;
}

static ease_status read_indptr(npz *n, ease_error *err)
{
    ease_interactions *x = n->x;
    array a = {0};
    const unsigned char *p;
    int64_t before = 0;
    ease_status status = open_array(&n->zip, "indptr.npy", &a, err);

    if (!status && (!ease__npy_is_integer(&a.form) || a.count != (size_t)n->rows + 1))
        status = bad_array(&a, "not an integer for each row and one more", err);
    if (!status) {
        x->row_ptr = ease__alloc_array((size_t)n->rows + 1, sizeof(*x->row_ptr));
        if (!x->row_ptr)
            status = ease__fail(err, EASE_E_NOMEM, "reading %s", n->zip.name);
    }
    for (int64_t u = 0; !status && u <= n->rows; u++) {
        status = next_element(&a, &p, err);
        if (status)
            break;
        x->row_ptr[u] = ease__npy_integer(&a.form, p);
        if (x->row_ptr[u] < before || (u == 0 && x->row_ptr[0] != 0))
            status = bad_array(&a, "it decreases, or does not begin with 0", err);
        before = x->row_ptr[u];
    }
    x->nnz = before;
    close_array(&a);
    return status;
}

static ease_status still_wanted(const npz *n, int64_t done, ease_error *err)
{
    double all = 2.0 * (double)n->x->nnz + 1.0;

    if (done % (1 << 18) == 0 &&
        ease__progress(n->o->hooks, ease__stage_reading, (double)done / all))
        return ease__cancelled(err);
    return EASE_OK;
}

static ease_status read_indices(npz *n, array *a, ease_error *err)
{
    ease_interactions *x = n->x;
    const unsigned char *p;

    if (!ease__npy_is_integer(&a->form) || a->count < (size_t)x->nnz)
        return bad_array(a, "not an integer for each entry", err);
    x->cols = ease__alloc_array((size_t)x->nnz, sizeof(*x->cols));
    if (n->o->weights)
        x->vals = ease__alloc_array((size_t)x->nnz, sizeof(*x->vals));
    if (!x->cols || (n->o->weights && !x->vals))
        return ease__fail(err, EASE_E_NOMEM, "reading %s", n->zip.name);
    for (int64_t i = 0; i < x->nnz; i++) {
        ease_status status = still_wanted(n, i, err);
        int64_t column;

        if (!status)
            status = next_element(a, &p, err);
        if (status)
            return status;
        column = ease__npy_integer(&a->form, p);
        if (column < 0 || column >= n->columns)
            return bad_array(a, "a column outside of the matrix", err);
        x->cols[i] = (int32_t)column;
    }
    return EASE_OK;
}

/* Reads and checks all values, used or not, and drops entries below the rating. */
static ease_status read_data(npz *n, array *a, ease_error *err)
{
    ease_interactions *x = n->x;
    const unsigned char *p;
    bool count = !ease__wants_values(n->o);
    int64_t kept = 0, i = 0;

    if (!ease__npy_is_number(&a->form) || a->count < (size_t)x->nnz)
        return bad_array(a, "not a number for each entry", err);
    for (int64_t u = 0; u < n->rows; u++) {
        int64_t end = x->row_ptr[u + 1];

        x->row_ptr[u] = kept;
        for (; i < end; i++) {
            ease_status status = still_wanted(n, x->nnz + i, err);
            double value;

            if (!status)
                status = next_element(a, &p, err);
            if (status)
                return status;
            value = ease__npy_double(&a->form, p);
            if (!isfinite(value) || (x->vals && !isfinite((float)value)))
                return bad_array(a, "a value that is not finite", err);
            if (value < n->o->min_rating)
                continue;
            x->counts.unused += count && value != 1.0;
            x->counts.negative += count && value < 0.0;
            x->cols[kept] = x->cols[i];
            if (x->vals)
                x->vals[kept] = (float)value;
            kept++;
        }
    }
    x->row_ptr[n->rows] = kept;
    x->counts.rows = x->nnz;
    x->counts.below_rating = x->nnz - kept;
    x->nnz = kept;
    return EASE_OK;
}

static ease_status read_entries(npz *n, ease_error *err)
{
    array indices = {0}, data = {0};
    ease_status status = open_array(&n->zip, "indices.npy", &indices, err);

    if (!status)
        status = open_array(&n->zip, "data.npy", &data, err);
    if (!status)
        status = ease__check_claim(
            n->zip.name, n->rows, n->columns,
            ease__size_mul((size_t)n->x->nnz, n->o->weights ? 8 : 4), n->o, err);
    if (!status)
        status = read_indices(n, &indices, err);
    if (!status)
        status = read_data(n, &data, err);
    close_array(&indices);
    close_array(&data);
    return status;
}

static ease_status label(npz *n, ease_error *err)
{
    ease_interactions *x = n->x;
    char all[160];
    ease_status status;

    snprintf(all, sizeof(all), "%sSciPy CSR .npz, %lld x %lld",
             ease__input_coding(n->in), (long long)n->rows, (long long)n->columns);
    x->recognized = ease__copy_string(all);
    if (!x->recognized)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", n->zip.name);
    x->users = n->rows;
    x->items = (int32_t)n->columns;
    status = ease__ids_number(&x->user_ids, 0, x->users, err);
    return status ? status : ease__ids_number(&x->item_ids, 0, x->items, err);
}

static ease_status read_npz(const ease__reading *r, ease_error *err)
{
    npz n = {.zip = EASE__ZIP_NONE, .in = r->in, .o = r->o, .x = r->x};
    const char *name = ease__input_name(r->in);
    bool zip = false;
    ease_status status = ease__check_no_table(name, ".npz", false, r->o, err);

    if (!status)
        status = recognize(r, &zip, err);
    if (!status && !zip)
        status = ease__fail(err, EASE_E_PARSE,
                            "%s: not a .npz file, which is a zip file", name);
    if (!status)
        status = ease__zip_open(r->in, r->o->memory_limit, &n.zip, err);
    if (!status)
        status = check_format(&n, err);
    if (!status)
        status = read_shape(&n, err);
    if (!status)
        status = ease__check_claim(n.zip.name, n.rows, n.columns, 0, r->o, err);
    if (!status)
        status = read_indptr(&n, err);
    if (!status)
        status = read_entries(&n, err);
    if (!status)
        status = label(&n, err);
    ease__zip_close(&n.zip);
    return status;
}

const ease__reader ease__npz_reader = {
    .format = {.name = "npz",
               .about = "a SciPy CSR matrix: rows are users, columns are items",
               .values = 1},
    .recognize = recognize,
    .read = read_npz,
};
