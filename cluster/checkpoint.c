#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/container.h"

enum { VERSION = 1, MOST_ROWS = 1 << 15 };

static const char manifest_kind[] = "sweep";

static bool is_first(const checkpoint *c)
{
    return c->group->rank == 0;
}

static void warn(const checkpoint *c, const char *text, const char *what)
{
    if (is_first(c))
        fprintf(stderr, "ease-cluster: warning: %s; %s\n", text, what);
}

void checkpoint_remove(checkpoint *c)
{
    ease_error err = {0};

    for (int g = 0; c->dir.path && g < CHECKPOINT_GENERATIONS; g++) {
        if (is_first(c) && workdir_remove(&c->dir, g, &err) != EASE_OK)
            warn(c, err.text, "the checkpoint stays");
        c->found[g].step = 0;
    }
    c->step = 0;
}

void checkpoint_end(checkpoint *c)
{
    workdir_release(&c->dir);
}

/* ---- manifests ------------------------------------------------------------------- */

/* The vectors in a manifest. */
typedef struct vectors {
    double *diagonal, *product; /* n */
    uint64_t *hashes;           /* of the tiles, in their order */
    size_t n, tiles;
} vectors;

static ease_status take_section(const ease__container *f, const char *name, void *to,
                                size_t bytes, ease_error *err)
{
    size_t found = 0;
    const void *section = ease__container_section(f, name, &found);

    if (!section || found != bytes)
        return ease__fail(err, EASE_E_FORMAT, "%s: damaged: section '%s'", f->path,
                          name);
    memcpy(to, section, bytes);
    return EASE_OK;
}

static ease_status check_params(const checkpoint_params *p, const char *path,
                                ease_error *err)
{
    bool right = p->rows >= 1 && p->rows <= MOST_ROWS && p->columns >= 1 &&
                 p->columns <= MOST_ROWS && p->step >= 1;

    return right ? EASE_OK
                 : ease__fail(err, EASE_E_FORMAT, "%s: damaged: its parameters", path);
}

/* `v` may be NULL. */
static ease_status read_manifest(const checkpoint *c, int generation,
                                 checkpoint_params *p, const vectors *v,
                                 ease_error *err)
{
    ease__container f = EASE__CONTAINER_NONE;
    char path[PATH_MAX];
    ease_status status;

    workdir_manifest(&c->dir, generation, path);
    status = ease__container_open(path, manifest_kind, VERSION, &f, err);
    if (!status)
        status = take_section(&f, "params", p, sizeof(*p), err);
    if (!status)
        status = check_params(p, path, err);
    if (!status && v)
        status = take_section(&f, "diagonal", v->diagonal, v->n * sizeof(double), err);
    if (!status && v)
        status = take_section(&f, "product", v->product, v->n * sizeof(double), err);
    if (!status && v)
        status = take_section(&f, "hashes", v->hashes, v->tiles * sizeof(uint64_t),
                              err);
    p->core[sizeof(p->core) - 1] = '\0';
    ease__container_close(&f);
    return status;
}

static ease_status write_manifest(const checkpoint *c, int generation,
                                  const checkpoint_params *p, const uint64_t *hashes,
                                  size_t tiles, ease_error *err)
{
    size_t n = (size_t)c->training.items * sizeof(double);
    ease__container_writer *w = NULL;
    char path[PATH_MAX];
    ease_status status;

    workdir_manifest(&c->dir, generation, path);
    status = ease__writer_open(path, manifest_kind, VERSION, 0, &w, err);
    if (status)
        return status;
    status = ease__writer_add(w, "params", p, sizeof(*p), err);
    if (!status)
        status = ease__writer_add(w, "diagonal", c->diagonal, n, err);
    if (!status)
        status = ease__writer_add(w, "product", c->product, n, err);
    if (!status)
        status = ease__writer_add(w, "hashes", hashes, tiles * sizeof(*hashes), err);
    if (!status)
        return ease__writer_commit(w, err);
    ease__writer_discard(w);
    return status;
}

/* ---- which there are ------------------------------------------------------------- */

static ease_status refuse(const checkpoint *c, const checkpoint_training *other,
                          ease_error *err)
{
    static const char *const kinds[] = {"counts", "covariance", "correlation"};
    char what[64];

    if (other->matrix != c->training.matrix || other->items != c->training.items ||
        other->edge != c->training.edge || other->kind >= 3)
        snprintf(what, sizeof(what), "another X'X, of %d items", (int)other->items);
    else if (other->kind != c->training.kind)
        snprintf(what, sizeof(what), "--kind %s", kinds[other->kind]);
    else if (other->wide != c->training.wide)
        snprintf(what, sizeof(what), "--precision %s", other->wide ? "f64" : "f32");
    else
        snprintf(what, sizeof(what), "--lambda %.15g", other->lambda);
    return ease__fail(err, EASE_E_DATA,
                      "%s: has a checkpoint of another training, with %s: finish that "
                      "one, remove %s/" WORKDIR_NAMES "*, or name another "
                      "directory",
                      c->dir.path, what, c->dir.path);
}

/* A manifest that is damaged is none; without its tiles nothing is lost by that. */
static ease_status look(checkpoint *c, int generation, ease_error *err)
{
    checkpoint_params *p = &c->found[generation];
    ease_error found = {0};
    ease_status status = read_manifest(c, generation, p, NULL, &found);

    if (status == EASE_E_FORMAT)
        warn(c, found.text, "this checkpoint is not used");
    if (status)
        p->step = 0;
    if (status == EASE_E_FORMAT || (status == EASE_E_IO && found.sys_errno == ENOENT))
        return EASE_OK;
    if (status) {
        *err = found;
        return status;
    }
    if (memcmp(&p->training, &c->training, sizeof(p->training)) != 0)
        return refuse(c, &p->training, err);
    return EASE_OK;
}

/* The generation of the newest checkpoint; -1: there is none. */
static int newest(const checkpoint *c)
{
    int found = -1;

    for (int g = 0; g < CHECKPOINT_GENERATIONS; g++)
        if (c->found[g].step &&
            (found < 0 || c->found[g].number > c->found[found].number))
            found = g;
    return found;
}

ease_status checkpoint_begin(checkpoint *c, const checkpoint_training *training,
                             ease_error *err)
{
    ease_status status;

    c->training = *training;
    c->dir.group = c->group;
    status = workdir_take(&c->dir, err);
    if (status || !c->dir.path)
        return status;
    for (int g = 0; !status && is_first(c) && g < CHECKPOINT_GENERATIONS; g++)
        status = look(c, g, err);
    status = group_agree(c->group, status, err);
    if (!status)
        MPI_Bcast(c->found, sizeof(c->found), MPI_BYTE, 0, c->group->all);
    return status;
}

bool checkpoint_is_wide(const checkpoint *c)
{
    int g = newest(c);

    return g >= 0 && c->found[g].element == EASE__F64;
}

ease_status checkpoint_check_space(const checkpoint *c, const share *s, ease_error *err)
{
    char each[EASE__SIZE_CHARS], have[EASE__SIZE_CHARS];
    size_t tiles = ease__tile_count(s->t.tiles), available = 0, bytes;
    struct statvfs v;
    ease_status status = EASE_OK;

    if (!c->dir.path)
        return EASE_OK;
    /* The tiles, their hashes, two vectors; a file may end within a block. */
    bytes = s->t.bytes + tiles * sizeof(uint64_t) +
            (size_t)s->t.n * 2 * sizeof(double) +
            (size_t)(s->group->size + 5) * EASE__PAGE;
    if (is_first(c) && statvfs(c->dir.path, &v) == 0) {
        available = ease__size_mul((size_t)v.f_bavail, (size_t)v.f_frsize);
        for (int g = 0; g < CHECKPOINT_GENERATIONS; g++)
            available = ease__size_add(available, workdir_bytes(&c->dir, g));
        if (available / CHECKPOINT_GENERATIONS < bytes)
            status = ease__fail(err, EASE_E_IO,
                                "%s: needs 2 x %s of disk for checkpoints, %s are free",
                                c->dir.path, ease__size_text(bytes, each),
                                ease__size_text(available, have));
    }
    return group_agree(c->group, status, err);
}

/* ---- the tiles of a process ------------------------------------------------------ */

/* Calls `take` for the tiles of the process at (row, column) of a grid, in the order of
 * its file, until one fails. */
typedef ease_status visit_tile(void *user, int32_t i, int32_t j, size_t offset,
                               ease_error *err);

static size_t bytes_of_tile(const share *s)
{
    size_t e = (size_t)s->t.edge;

    return e * e * ease__element_bytes(s->t.element);
}

static ease_status visit_tiles(const share *s, int rows, int columns, int rank,
                               visit_tile *take, void *user, ease_error *err)
{
    size_t at = 0;
    ease_status status = EASE_OK;

    for (int32_t i = rank / columns; !status && i < s->t.tiles; i += rows)
        for (int32_t j = rank % columns; !status && j <= i; j += columns) {
            status = take(user, i, j, at, err);
            at += bytes_of_tile(s);
        }
    return status;
}

/* A file of tiles that is written or read. */
typedef struct tiles_file {
    const share *share;
    uint64_t *hashes;
    ease__output out; /* or, to be read, only its fd and name */
} tiles_file;

/* ---- writing --------------------------------------------------------------------- */

static ease_status write_tile(void *user, int32_t i, int32_t j, size_t offset,
                              ease_error *err)
{
    tiles_file *f = user;
    const void *tile = ease__tile(&f->share->t, i, j);
    size_t bytes = bytes_of_tile(f->share);
    ease_status status = ease__output_write_at(&f->out, tile, bytes, offset, err);

    ease__output_flush(&f->out, bytes, offset);
    f->hashes[ease__tile_count(i) + (size_t)j] = ease__block_hash(tile, bytes);
    return status;
}

static ease_status write_tiles(const checkpoint *c, const share *s, int generation,
                               uint64_t *hashes, ease_error *err)
{
    char path[PATH_MAX];
    /* It has its final name at once: without a manifest that is nothing. */
    tiles_file f = {.share = s, .hashes = hashes, .out = {.name = path, .path = path}};
    ease_status status;

    workdir_tiles(&c->dir, generation, c->group->rank, path);
    f.out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f.out.fd < 0)
        return ease__fail_errno(err, "%s: cannot create", path);
    status = visit_tiles(s, s->rows, s->columns, c->group->rank, write_tile, &f, err);
    if (!status && fsync(f.out.fd) != 0)
        status = ease__fail_errno(err, "%s: cannot sync", path);
    if (close(f.out.fd) != 0 && !status)
        status = ease__fail_errno(err, "%s: cannot close", path);
    return status ? status : workdir_sync(&c->dir, err);
}

static ease_status write_generation(checkpoint *c, const share *s, int generation,
                                    const checkpoint_params *p, uint64_t *hashes,
                                    ease_error *err)
{
    const group *g = c->group;
    size_t tiles = ease__tile_count(s->t.tiles);
    ease_status status = EASE_OK;

    c->found[generation].step = 0;
    if (is_first(c))
        status = workdir_remove(&c->dir, generation, err);
    status = group_agree(g, status, err);
    if (!status)
        status = group_agree(g, write_tiles(c, s, generation, hashes, err), err);
    if (status)
        return status;
    group_join(g, hashes, tiles);
    if (is_first(c))
        status = write_manifest(c, generation, p, hashes, tiles, err);
    status = group_agree(g, status, err);
    if (!status)
        c->found[generation] = *p;
    return status;
}

static void describe(const checkpoint *c, checkpoint_params *p)
{
    ease_blas_info blas = {.size = sizeof(blas)};

    *p = (checkpoint_params){.training = c->training};
    ease_blas_describe(&blas);
    snprintf(p->core, sizeof(p->core), "%s", blas.core);
}

bool checkpoint_due(const checkpoint *c)
{
    return c->dir.path && ease__seconds() - c->last >= c->seconds;
}

void checkpoint_save(checkpoint *c, const share *s, int32_t step)
{
    int before = newest(c);
    uint64_t *hashes = ease__alloc_zero(ease__tile_count(s->t.tiles), sizeof(*hashes));
    double began = ease__seconds();
    ease_error err = {0};
    checkpoint_params p;
    ease_status status = hashes ? EASE_OK
                                : ease__fail(&err, EASE_E_NOMEM, "a checkpoint");

    describe(c, &p);
    p.number = before < 0 ? 1 : c->found[before].number + 1;
    p.rows = s->rows;
    p.columns = s->columns;
    p.step = step;
    p.element = (uint32_t)s->t.element;
    status = group_agree(c->group, status, &err);
    if (!status)
        status = write_generation(c, s, before < 0 ? 0 : 1 - before, &p, hashes, &err);
    ease__free(hashes);
    c->last = ease__seconds();
    if (status)
        warn(c, err.text, "the training goes on without this checkpoint");
    else if (c->verbose && is_first(c))
        fprintf(stderr, "checkpoint after step %d of %d, in %.1f s\n", (int)step,
                (int)s->t.tiles, c->last - began);
}

/* ---- reading --------------------------------------------------------------------- */

static ease_status read_tile(void *user, int32_t i, int32_t j, size_t offset,
                             ease_error *err)
{
    tiles_file *f = user;
    char *to = ease__tile(&f->share->t, i, j);
    size_t bytes = bytes_of_tile(f->share), done = 0;

    if (!share_mine(f->share, i, j))
        return EASE_OK;
    while (done < bytes) {
        ssize_t got = pread(f->out.fd, to + done, bytes - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ease__fail(err, EASE_E_FORMAT,
                              "%s: damaged: tile (%d, %d) is missing", f->out.name,
                              (int)i, (int)j);
        done += (size_t)got;
    }
    if (ease__block_hash(to, bytes) != f->hashes[ease__tile_count(i) + (size_t)j])
        return ease__fail(err, EASE_E_FORMAT,
                          "%s: damaged: wrong checksum of tile (%d, %d)", f->out.name,
                          (int)i, (int)j);
    return EASE_OK;
}

/* Reads what this process needs of the file of process `rank` of that time. */
static ease_status read_tiles(const checkpoint *c, const share *s, int generation,
                              int rank, uint64_t *hashes, ease_error *err)
{
    const checkpoint_params *p = &c->found[generation];
    char path[PATH_MAX];
    tiles_file f = {.share = s, .hashes = hashes, .out = {.name = path}};
    ease_status status;

    workdir_tiles(&c->dir, generation, rank, path);
    f.out.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f.out.fd < 0 && errno == ENOENT)
        return ease__fail(err, EASE_E_FORMAT, "%s: damaged: there is no such file",
                          path);
    if (f.out.fd < 0)
        return ease__fail_errno(err, "%s: cannot open", path);
    status = visit_tiles(s, p->rows, p->columns, rank, read_tile, &f, err);
    close(f.out.fd);
    return status;
}

static ease_status read_generation(const checkpoint *c, const share *s, int generation,
                                   const vectors *v, ease_error *err)
{
    const group *g = c->group;
    const checkpoint_params *p = &c->found[generation];
    int writers = p->rows * p->columns;
    checkpoint_params again;
    ease_status status = EASE_OK;

    if (is_first(c))
        status = read_manifest(c, generation, &again, v, err);
    status = group_agree(g, status, err);
    if (status)
        return status;
    MPI_Bcast(v->diagonal, (int)v->n, MPI_DOUBLE, 0, g->all);
    MPI_Bcast(v->product, (int)v->n, MPI_DOUBLE, 0, g->all);
    MPI_Bcast(v->hashes, (int)v->tiles, MPI_UINT64_T, 0, g->all);
    /* Not all processes begin with the same file. */
    for (int r = 0; !status && r < writers; r++)
        status = read_tiles(c, s, generation, (r + g->rank) % writers, v->hashes, err);
    return group_agree(g, status, err);
}

static void tell(const checkpoint *c, const share *s, const checkpoint_params *p)
{
    checkpoint_params own;

    describe(c, &own);
    if (strcmp(own.core, p->core) != 0 && is_first(c))
        fprintf(stderr,
                "ease-cluster: warning: the checkpoint was computed with OpenBLAS's "
                "kernels for %s, the rest will be with those for %s: the last bits of "
                "the model may differ\n",
                p->core, own.core);
    if (c->verbose && is_first(c))
        fprintf(stderr, "read a checkpoint of %d x %d processes, in float%d\n",
                (int)p->rows, (int)p->columns, s->t.element == EASE__F64 ? 64 : 32);
}

ease_status checkpoint_load(checkpoint *c, const share *s, double *diagonal,
                            double *product, ease_error *err)
{
    bool wide = s->t.element == EASE__F64;
    vectors v = {.diagonal = diagonal, .product = product, .n = (size_t)s->t.n};
    ease_status status = EASE_OK;
    int g;

    c->diagonal = diagonal;
    c->product = product;
    c->step = 0;
    c->last = ease__seconds();
    v.tiles = ease__tile_count(s->t.tiles);
    if (newest(c) < 0)
        return EASE_OK;
    v.hashes = ease__alloc_array(v.tiles, sizeof(*v.hashes));
    if (!v.hashes)
        status = ease__fail(err, EASE_E_NOMEM, "reading a checkpoint");
    status = group_agree(c->group, status, err);
    while (!status && !c->step && (g = newest(c)) >= 0) {
        ease_error found = {0};

        if ((c->found[g].element == EASE__F64) == wide)
            status = read_generation(c, s, g, &v, &found);
        else
            status = ease__fail(&found, EASE_E_FORMAT, "%s: of another precision",
                                c->dir.path);
        if (!status) {
            c->step = c->found[g].step;
            tell(c, s, &c->found[g]);
        } else if (status == EASE_E_FORMAT) {
            c->found[g].step = 0;
            warn(c, found.text,
                 newest(c) < 0 ? "the training begins anew"
                               : "the checkpoint before it is used");
            status = EASE_OK;
        } else {
            *err = found;
        }
    }
    ease__free(v.hashes);
    return status;
}
