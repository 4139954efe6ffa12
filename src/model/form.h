/* A form is a way to store a model in memory and in files: one constant of type
 * ease__form in one file of this folder, and one line in EASE__FORMS below. Its models
 * are scored by an ease__scoring, in one file of src/score. No other code depends on
 * the form of a model. */
#ifndef EASE_MODEL_FORM_H
#define EASE_MODEL_FORM_H

#include "core/container.h"
#include "matrix/tiled.h"

typedef struct ease__form ease__form;

/* ---- weights --------------------------------------------------------------------- */

/* Functions that read weights. All uses of weights call `read`, so that one model gives
 * the same floats everywhere. */
typedef struct ease__store {
    /* Writes the weights of the window as floats, row r of it to out + r * ld. */
    void (*read)(const ease_model *m, ease__window w, float *out, size_t ld);
    /* Writes the weights of the window in the form that panels are summed from: float16
     * numbers without their unit if `halves`, else floats. */
    void (*take)(const ease_model *m, ease__window w, void *out, size_t ld);
    /* Verifies the blocks of the file that the window is read from, or the part of them
     * that belongs to this share; must be called before `read` and `take`. */
    ease_status (*need)(const ease_model *m, ease__window w, ease__share share,
                        ease_error *err);
    /* Writes the nonzero weights of a row to `out`, which has n elements, by column,
     * and returns their number; the cost is that of these weights. `need` must be
     * called before. NULL: weights are dense. */
    int32_t (*nonzeros)(const ease_model *m, int32_t row, ease_rec *out);
    /* Asks the kernel to read rows top .. bottom-1 from the disk. */
    void (*expect)(const ease_model *m, int32_t top, int32_t bottom);
    /* Returns the bits of the largest finite |weight| of these rows and of the columns
     * of the same items, without `read`; NULL: not known. */
    int32_t (*largest)(const ease_model *m, int32_t top, int32_t bottom);
    bool halves;   /* `take` writes float16 */
    bool in_place; /* m->rows are float32, and can be used without copying */
    int32_t grain; /* number of rows that can be read at the cost of one */
    bool empty;    /* all weights are 0: nothing needs to be read */
} ease__store;

/* The store of forms without weights: reads zeros. */
extern const ease__store ease__store_none;

/* ---- files ----------------------------------------------------------------------- */

/* The section "params" of a model file. Members are added at the end, and never changed
 * or removed; of a longer section, a reader uses the part that it knows. */
typedef struct ease__model_params {
    int32_t items;
    int32_t kind;                /* ease_gram_kind */
    int32_t precision;           /* ease_precision of the solve */
    int32_t storage;             /* ease__form.number */
    int32_t nonnegative;         /* 0 or 1 */
    int32_t edge;                /* packed, else 0 */
    uint64_t stride;             /* rows: bytes from row to row; else 0 */
    int64_t users, interactions; /* -1: unknown */
    double lambda, residual;
    float unit;      /* f16; else 1 */
    uint32_t method; /* ease__method.number; 0 with `nonnegative` is 1 */
    /* From version 2 on, for the messages of readers that do not know the numbers:
     * zero-filled, and terminated by a NUL. */
    char method_name[24], form_name[16];
} ease__model_params;

_Static_assert(sizeof(ease__model_params) == 112, "part of the file format");

/* A model that is being saved. */
typedef struct ease__saving {
    const ease_model *model;
    const ease__form *form; /* of the file */
    ease__model_params params;
    ease__container_writer *writer;
    const ease_hooks *hooks;
} ease__saving;

/* Rules for the sections that files of every form have. */
#define EASE__COMMON_SECTIONS                                                  \
    {"params", false}, {"ids", false}, {"titles", false}, {"settings", false}, \
        {"popularity", false}, {"tags", false}, {"tag_names", false},          \
        {"tag_starts", false}, {"tag_numbers", false}, {"tag_weights", false}, \
        {"position", false},                                                   \
    {                                                                          \
        "base", false                                                          \
    }

/* ---- the contract ---------------------------------------------------------------- */

/* The functions that score models of a form: src/score/scoring.h. */
typedef struct ease__scoring ease__scoring;

struct ease__form {
    const char *name;
    ease_storage number; /* in files: never changed, never reused */
    /* The form of the trained model that this one is saved from: itself, or for dense
     * models the packed form. */
    const ease__form *trained;
    bool on_request;  /* ease_model_save() can save any model with the same `trained` in
                         this form */
    bool known_users; /* it can score only the users of the training data */
    const ease__store *store;
    const ease__scoring *scoring;
    const ease__section_rule *sections; /* ended by a NULL name */

    /* Returns the bytes of the weights in a file of n items, SIZE_MAX on overflow;
     * NULL: they do not depend on n alone. */
    size_t (*weight_bytes)(int32_t n);
    /* Returns the bytes of memory of this form's members in a trained model. */
    size_t (*held)(const ease_model *m);
    /* Frees the members of this form that are not part of a mapped file. May be
     * NULL. */
    void (*free)(ease_model *m);

    /* Sets the parameters of this form, or fails if the model cannot be saved; may be
     * NULL. Called before the file is opened, so it must be quick. */
    ease_status (*prepare)(ease__saving *s, const char *path, ease_error *err);
    /* Sets the parameters that depend on all weights; may be NULL. */
    ease_status (*measure)(ease__saving *s, ease_error *err);
    /* Writes the sections of this form before "weights"; NULL: the form is not one of
     * dense models with an inverse. */
    ease_status (*write_small)(const ease__saving *s, ease_error *err);
    /* Writes the sections of this form. */
    ease_status (*write)(const ease__saving *s, ease_error *err);
    /* Sets the members of this form from the sections of m->file, whose mapping is
     * borrowed, and from the parameters. Checks both: a model that was opened can be
     * used without further checks. Fails with EASE_E_FORMAT if the file is damaged. */
    ease_status (*open)(ease_model *m, const ease__model_params *p, ease_error *err);
};

/* Defined in src/score, a later folder. */
extern const ease__scoring ease__scoring_rows, ease__scoring_base, ease__scoring_sparse,
    ease__scoring_latent, ease__scoring_known;

/* All forms, one in a line. */
#define EASE__FORMS(FORM)   \
    FORM(ease__form_f32)    \
    FORM(ease__form_f16)    \
    FORM(ease__form_packed) \
    FORM(ease__form_none)   \
    FORM(ease__form_sparse) \
    FORM(ease__form_latent) \
    FORM(ease__form_known)

/* A form of models in memory that have two inverses. Files have none of it. */
extern const ease__form ease__form_blended;

#define EASE__DECLARE_FORM(form) extern const ease__form form;
EASE__FORMS(EASE__DECLARE_FORM)
extern const ease__form *const ease__forms[]; /* all of them, then NULL */

/* The form with this number; NULL: there is none. */
const ease__form *ease__form_numbered(int32_t number);

/* ---- used by the files of forms -------------------------------------------------- */

static inline void ease__free_const(const void *p)
{
    ease__free((void *)(uintptr_t)p);
}

/* Fails with EASE_E_FORMAT: "PATH: damaged: WHAT". */
ease_status ease__model_damaged(const ease_model *m, const char *what, ease_error *err);

/* Fails with EASE_E_VERSION: "PATH: made by a newer ease: WHAT NAME". `name` comes from
 * the file; if it is not a name, the message has the number instead. */
ease_status ease__model_newer(const ease_model *m, const char *what, const char *name,
                              int64_t number, ease_error *err);

/* True if no parameter of a particular form (edge, stride, unit) is set. */
bool ease__params_plain(const ease__model_params *p);

/* Sets *out to a section of n finite floats; *out stays NULL if there is none. */
ease_status ease__take_floats(const ease_model *m, const char *name, const float **out,
                              ease_error *err);
/* Sets m->norm and m->norm_to to the sections "norm", which must exist, and "norm_to"
 * of a dense model; their numbers must be above 0. */
ease_status ease__take_norm(ease_model *m, ease_error *err);
/* Writes these sections. */
ease_status ease__save_norm(const ease__saving *s, ease_error *err);
/* Returns the section if it has exactly `bytes` bytes, else NULL. */
const void *ease__take_section(const ease__container *file, const char *name,
                               size_t bytes);

/* Writes a section with `size` bytes for each item, or none if array is NULL. */
ease_status ease__save_array(const ease__saving *s, const char *name, const void *array,
                             size_t size, ease_error *err);
/* Writes a large section, which may be empty. */
ease_status ease__save_large(const ease__saving *s, const char *name, const void *data,
                             size_t bytes, ease_error *err);

/* True if the rows + 1 starts of rows ascend from 0 to `count`. */
bool ease__starts_valid(const uint64_t *starts, int64_t rows, size_t count);

#endif
