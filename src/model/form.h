/* A form is a way to hold a model: one constant of type ease__form in one file of this
 * folder, and one line in EASE__FORMS below. How models of a form are scored is an
 * ease__scoring, in one file of src/score. Everything else asks these tables. */
#ifndef EASE_MODEL_FORM_H
#define EASE_MODEL_FORM_H

#include "core/container.h"
#include "matrix/tiled.h"

typedef struct ease__form ease__form;

/* ---- weights ----------------------------------------------------------------------- */

/* How weights are read. Every use of weights goes through `read`, so that a model gives
 * the same floats wherever they are used. */
typedef struct ease__store {
    /* The weights of the window, as floats, row r of it at out + r * ld. */
    void (*read)(const ease_model *m, ease__window w, float *out, size_t ld);
    /* The same as panels are summed: as float16 numbers without their unit if `halves`,
     * else as floats. */
    void (*take)(const ease_model *m, ease__window w, void *out, size_t ld);
    /* Must be called before `read` and `take`: verifies this share of the blocks of the
     * file that the window is read from. */
    ease_status (*need)(const ease_model *m, ease__window w, ease__share share,
                        ease_error *err);
    /* Rows top .. bottom-1 will be read soon: asks the kernel to fetch them. */
    void (*expect)(const ease_model *m, int32_t top, int32_t bottom);
    /* The bits of the largest finite |weight| of the rows and of their mirror image in
     * the columns, where that is known without `read`; may be NULL. */
    int32_t (*largest)(const ease_model *m, int32_t top, int32_t bottom);
    bool halves;   /* the format of `take` */
    bool in_place; /* m->rows are float32, and can be used where they lie */
    int32_t grain; /* so many rows cost no more to read than one of them */
    bool empty;    /* all weights are 0: nothing needs to be read */
} ease__store;

/* For forms without weights: all of them are 0. */
extern const ease__store ease__store_none;

/* ---- files ------------------------------------------------------------------------- */

/* The section "params" of files. Members are added at the end, never changed or removed:
 * of a longer section, a reader uses the part that it knows. */
typedef struct ease__model_params {
    int32_t items;
    int32_t kind;                /* ease_gram_kind */
    int32_t precision;           /* ease_precision: that of the solve */
    int32_t storage;             /* ease__form.number */
    int32_t nonnegative;         /* 0 or 1 */
    int32_t edge;                /* packed, else 0 */
    uint64_t stride;             /* rows: bytes from row to row; else 0 */
    int64_t users, interactions; /* -1: unknown */
    double lambda, residual;
    float unit;      /* f16; else 1 */
    uint32_t method; /* ease__method.number; 0 with `nonnegative` is 1 */
    /* From version 2 on. Numbers decide; the names are for readers that do not know the
     * numbers yet. Zero-filled, and with a NUL at the end. */
    char method_name[24], form_name[16];
} ease__model_params;

_Static_assert(sizeof(ease__model_params) == 112, "as it lies in files");

/* A model on its way into a file. */
typedef struct ease__saving {
    const ease_model *model;
    const ease__form *form; /* that of the file */
    ease__model_params params;
    ease__container_writer *writer;
    const ease_hooks *hooks;
} ease__saving;

/* Sections of every form. */
#define EASE__COMMON_SECTIONS                                                  \
    {"params", false}, {"ids", false}, {"titles", false}, {"settings", false}, \
        {"popularity", false},                                                 \
    {                                                                          \
        "base", false                                                          \
    }

/* ---- the contract ------------------------------------------------------------------ */

/* How models of a form are scored: src/score/scoring.h. */
typedef struct ease__scoring ease__scoring;

struct ease__form {
    const char *name;
    ease_storage number; /* in files: never changed, never reused */
    /* The form that training makes, from which this one is saved: itself, or the packed
     * one of dense models. */
    const ease__form *trained;
    bool on_request; /* ease_model_save() converts models of the same `trained` to it */
    bool known_users; /* scores only the users that it was trained with */
    const ease__store *store;
    const ease__scoring *scoring;
    const ease__section_rule *sections; /* ended by a NULL name */

    /* Bytes of the weights in a file of n items, SIZE_MAX where that overflows; NULL:
     * n alone does not tell. */
    size_t (*weight_bytes)(int32_t n);
    /* Bytes of memory that the members of this form take in a trained model. */
    size_t (*held)(const ease_model *m);
    /* Frees the members of this form, as far as they do not lie in a mapped file. May be
     * NULL. */
    void (*free)(ease_model *m);

    /* Sets the parameters that are this form's own, or refuses the model; may be NULL.
     * Quick: it is called before the file is created. */
    ease_status (*prepare)(ease__saving *s, const char *path, ease_error *err);
    /* Sets the parameters that depend on all weights; may be NULL. */
    ease_status (*measure)(ease__saving *s, ease_error *err);
    /* Writes the sections that are this form's own. */
    ease_status (*write)(const ease__saving *s, ease_error *err);
    /* Checks these sections and parameters, and borrows the sections from m->file: a
     * model that opens can be used. Fails with EASE_E_FORMAT if the file is damaged. */
    ease_status (*open)(ease_model *m, const ease__model_params *p, ease_error *err);
};

/* Defined in src/score, which comes after this folder. */
extern const ease__scoring ease__scoring_rows, ease__scoring_base, ease__scoring_sparse,
    ease__scoring_latent, ease__scoring_known;

/* The table: a new form is a line here. */
#define EASE__FORMS(FORM)   \
    FORM(ease__form_f32)    \
    FORM(ease__form_f16)    \
    FORM(ease__form_packed) \
    FORM(ease__form_none)   \
    FORM(ease__form_sparse) \
    FORM(ease__form_latent) \
    FORM(ease__form_known)

#define EASE__DECLARE_FORM(form) extern const ease__form form;
EASE__FORMS(EASE__DECLARE_FORM)
extern const ease__form *const ease__forms[]; /* all of them, then NULL */

/* NULL: there is none of this number. */
const ease__form *ease__form_numbered(int32_t number);

/* ---- for the files of forms -------------------------------------------------------- */

static inline void ease__free_const(const void *p)
{
    ease__free((void *)(uintptr_t)p);
}

/* EASE_E_FORMAT: "PATH: damaged: WHAT". */
ease_status ease__model_damaged(const ease_model *m, const char *what, ease_error *err);

/* EASE_E_VERSION: "PATH: made by a newer ease: WHAT NAME", or its number if `name`, which
 * comes from the file, is no name. */
ease_status ease__model_newer(const ease_model *m, const char *what, const char *name,
                              int64_t number, ease_error *err);

/* True if no parameter is set that belongs to another form. */
bool ease__params_plain(const ease__model_params *p);

/* Takes a section of n finite floats; *out stays NULL if there is no such section. */
ease_status ease__take_floats(const ease_model *m, const char *name, const float **out,
                              ease_error *err);
/* Takes "norm" of a dense model, which must be there: numbers above 0. */
ease_status ease__take_norm(ease_model *m, ease_error *err);
/* The section if it has exactly so many bytes, else NULL. */
const void *ease__take_section(const ease__container *file, const char *name,
                               size_t bytes);

/* Writes a section of an element of `size` bytes for each item; none if array is NULL. */
ease_status ease__save_array(const ease__saving *s, const char *name, const void *array,
                             size_t size, ease_error *err);
/* Writes a large section, which may be empty. */
ease_status ease__save_large(const ease__saving *s, const char *name, const void *data,
                             size_t bytes, ease_error *err);

/* True if the starts of the rows ascend from 0 to `count`: the rows lie one behind the
 * other. */
bool ease__starts_hold(const uint64_t *starts, int64_t rows, size_t count);

#endif
