/* Large sections of mapped files: every block is verified before its first use, and a
 * file that is modified while it is in use is noticed. */
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/budget.h"
#include "core/container.h"
#include "core/fault.h"

enum {
    READ_LIMIT = 16 << 20, /* bytes of large sections that are read when opening */
    TICK_LIMIT = 20        /* ms: a tick is 10 at most; FAT's, of 2 s, is not awaited */
};

/* ---- mapped files ------------------------------------------------------------- */

static bool is_written_now(struct timespec written)
{
    struct timespec now;
    double age;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    age = (double)(now.tv_sec - written.tv_sec) * 1e3 +
          (double)(now.tv_nsec - written.tv_nsec) * 1e-6;
    return age <= 0 && age > -TICK_LIMIT;
}

/* Modification times come from a clock that advances every few ms. If the file was
 * written in the current tick, another write within the same tick would not change its
 * time. */
static void await_next_tick(struct timespec written)
{
    const struct timespec ms = {.tv_nsec = 1000000};

    for (int i = 0; i < TICK_LIMIT && is_written_now(written); i++)
        nanosleep(&ms, NULL);
}

static ease_status watch_section(ease__container *c, const ease__disk_section *s,
                                 ease_verify verify, ease_error *err)
{
    ease__mapped *m = &c->watch->section[c->watch->count];
    char name[sizeof(s->name) + 1];
    size_t bytes = 0, blocks = ease__blocks_of((size_t)s->bytes);

    snprintf(name, sizeof(name), "%.14s#", s->name);
    *m = (ease__mapped){.offset = (size_t)s->offset,
                        .bytes = (size_t)s->bytes,
                        .name = s->name,
                        .hashes = ease__container_section(c, name, &bytes)};
    if (verify != EASE_VERIFY_NEVER) {
        m->verified = ease__alloc_zero(blocks / 64 + 1, sizeof(*m->verified));
        if (!m->verified)
            return ease__fail(err, EASE_E_NOMEM, "opening %s", c->path);
    }
    c->watch->count++;
    return EASE_OK;
}

static ease_status watch_sections(ease__container *c, const ease__section_rule *known,
                                  ease_verify verify, ease_error *err)
{
    ease_status status = EASE_OK;

    c->watch = ease__alloc_zero(1, sizeof(*c->watch));
    if (!c->watch)
        return ease__fail(err, EASE_E_NOMEM, "opening %s", c->path);
    for (uint32_t i = 0; !status && i < c->header.sections; i++)
        if (ease__is_large(&c->header.section[i]) &&
            ease__rule_of(known, c->header.section[i].name))
            status = watch_section(c, &c->header.section[i], verify, err);
    return status;
}

void ease__container_lend(const ease__container *c)
{
    for (uint32_t i = 0; c->watch && i < c->watch->count; i++)
        ease__fault_forget(c->map + c->watch->section[i].offset);
}

void ease__watch_free(ease__container *c)
{
    if (!c->watch)
        return;
    ease__container_lend(c);
    for (uint32_t i = 0; i < c->watch->count; i++)
        ease__free((void *)c->watch->section[i].verified);
    ease__free(c->watch);
    c->watch = NULL;
}

static ease_status check_memory(const ease__container *c, size_t bytes, ease_error *err)
{
    size_t limit = bytes <= READ_LIMIT ? SIZE_MAX : ease__memory_limit(0);

    if (bytes <= limit)
        return EASE_OK;
    return ease__fail(err, EASE_E_MEMORY_LIMIT,
                      "%s: reading %zu bytes of weights into memory, where %zu are "
                      "available",
                      c->path, bytes, limit);
}

/* Reads all large sections, of `bytes` bytes, into memory, after which the file is no
 * longer used. */
static ease_status read_sections(ease__container *c, size_t bytes,
                                 const ease_open_options *o, ease_error *err)
{
    ease_status status = check_memory(c, bytes, err);
    bool small = bytes <= READ_LIMIT;

    for (uint32_t i = 0; !status && i < c->watch->count; i++)
        status = ease__container_copy(c, c->watch->section[i].offset,
                                      c->watch->section[i].bytes, err);
    if (!status)
        status = ease__container_need_all(c, small ? 1 : o->threads,
                                          small ? NULL : o->hooks, err);
    if (!status)
        status = ease__container_unchanged(c, err);
    ease__watch_free(c);
    return status;
}

ease_status ease__container_attach(ease__container *c, const ease__section_rule *known,
                                   const ease_open_options *o, ease_error *err)
{
    ease_status status = watch_sections(c, known, o->verify, err);
    size_t bytes = 0;

    for (uint32_t i = 0; !status && i < c->watch->count; i++)
        bytes += c->watch->section[i].bytes;
    if (status || bytes <= READ_LIMIT || o->in_memory)
        return status ? status : read_sections(c, bytes, o, err);
    await_next_tick(c->written);
    for (uint32_t i = 0; i < c->watch->count; i++)
        ease__fault_watch(c->map + c->watch->section[i].offset,
                          c->watch->section[i].bytes, &c->watch->lost);
    return o->verify == EASE_VERIFY_OPEN
               ? ease__container_need_all(c, o->threads, o->hooks, err)
               : EASE_OK;
}

ease_status ease__container_load(ease__container *c, const char *name, ease_error *err)
{
    size_t bytes = 0;
    const unsigned char *at = ease__container_section(c, name, &bytes);
    ease_status status;

    if (!at || !c->watch)
        return EASE_OK;
    status = ease__container_copy(c, (size_t)(at - c->map), bytes, err);
    return status ? status : ease__container_need(c, at, bytes, EASE__WHOLE, err);
}

/* ---- verifying ---------------------------------------------------------------- */

ease_status ease__container_unchanged(const ease__container *c, ease_error *err)
{
    const ease__watch *w = c->watch;
    struct stat st;

    if (!w)
        return EASE_OK;
    if (fstat(c->fd, &st) != 0)
        return ease__fail_errno(err, "%s: cannot be read", c->path);
    if ((size_t)st.st_size != c->bytes || st.st_mtim.tv_sec != c->written.tv_sec ||
        st.st_mtim.tv_nsec != c->written.tv_nsec)
        return ease__fail(err, EASE_E_FORMAT,
                          "%s: was changed while in use; open it again", c->path);
    if (atomic_load(&w->lost))
        return ease__fail(err, EASE_E_IO, "%s: a part of it could not be read",
                          c->path);
    return EASE_OK;
}

static ease_status verify_block(const ease__container *c, const ease__mapped *s,
                                size_t block, ease_error *err)
{
    size_t from = block * EASE__BLOCK, left = s->bytes - from;
    ease_status status = ease__container_unchanged(c, err);
    uint64_t hash;

    if (status)
        return status;
    hash = XXH3_64bits(c->map + s->offset + from,
                       left < EASE__BLOCK ? left : EASE__BLOCK);
    if (hash != s->hashes[block]) {
        status = ease__container_unchanged(c, err);
        return status ? status
                      : ease__wrong_checksum(c, s->name, s->offset, block,
                                             ease__blocks_of(s->bytes), err);
    }
    atomic_fetch_or_explicit(&s->verified[block / 64], (uint64_t)1 << block % 64,
                             memory_order_release);
    return EASE_OK;
}

static bool is_verified(const ease__mapped *s, size_t block)
{
    uint64_t bits = atomic_load_explicit(&s->verified[block / 64],
                                         memory_order_acquire);

    return bits >> block % 64 & 1;
}

/* Verifies bytes from .. to-1 of a section. */
static ease_status verify_bytes(const ease__container *c, const ease__mapped *s,
                                size_t from, size_t to, ease__share share,
                                ease_error *err)
{
    ease_status status = EASE_OK;

    for (size_t block = from / EASE__BLOCK; !status && block * EASE__BLOCK < to;
         block++)
        if (block % (size_t)share.count == (size_t)share.index &&
            !is_verified(s, block))
            status = verify_block(c, s, block, err);
    return status;
}

/* The section that the address lies in, and its offset there; NULL if the section need
 * not be verified. */
static const ease__mapped *section_at(const ease__container *c, const void *from,
                                      size_t *offset)
{
    const ease__watch *w = c->watch;
    size_t at;

    if (!w)
        return NULL;
    at = (size_t)((const unsigned char *)from - c->map);
    for (uint32_t i = 0; i < w->count; i++) {
        const ease__mapped *s = &w->section[i];

        if (s->verified && at >= s->offset && at - s->offset < s->bytes) {
            *offset = at - s->offset;
            return s;
        }
    }
    return NULL;
}

ease_status ease__container_need(const ease__container *c, const void *from,
                                 size_t bytes, ease__share share, ease_error *err)
{
    size_t at = 0;
    const ease__mapped *s = section_at(c, from, &at);

    return s ? verify_bytes(c, s, at, at + bytes, share, err) : EASE_OK;
}

/* A failure does not matter: pages that were not fetched ahead are read when used. */
static void advise(const ease__container *c, size_t from, size_t bytes)
{
    (void)posix_fadvise(c->fd, (off_t)from, (off_t)bytes, POSIX_FADV_WILLNEED);
}

void ease__container_expect(const ease__container *c, const void *from, size_t bytes)
{
    if (c->watch)
        advise(c, (size_t)((const unsigned char *)from - c->map), bytes);
}

void ease__container_fetch(const ease__container *c, const void *from, size_t bytes)
{
    size_t at = 0;
    const ease__mapped *s = section_at(c, from, &at);

    for (size_t block = at / EASE__BLOCK; s && block * EASE__BLOCK < at + bytes;
         block++)
        if (!is_verified(s, block))
            advise(c, s->offset + block * EASE__BLOCK, EASE__BLOCK);
}

/* The state that threads share while they verify a whole file. */
typedef struct verification {
    const ease__container *container;
    const ease_hooks *hooks; /* asked by the calling thread, after each of its blocks */
    atomic_bool cancelled;
} verification;

static ease_status need_section(verification *v, const ease__mapped *s,
                                ease__share share, ease_error *err)
{
    const ease__container *c = v->container;
    size_t blocks = s->verified ? ease__blocks_of(s->bytes) : 0;

    for (size_t block = (size_t)share.index; block < blocks;
         block += (size_t)share.count) {
        double at = (double)(s->offset + block * EASE__BLOCK);
        ease_status status;

        if (is_verified(s, block))
            continue;
        status = verify_block(c, s, block, err);
        if (status)
            return status;
        if (share.index == 0 &&
            ease__progress(v->hooks, "verifying", at / (double)c->bytes))
            atomic_store(&v->cancelled, true);
        if (atomic_load(&v->cancelled))
            return EASE_OK;
    }
    return EASE_OK;
}

ease_status ease__container_need_all(const ease__container *c, int threads,
                                     const ease_hooks *hooks, ease_error *err)
{
    ease_status first = ease__container_unchanged(c, err);
    verification v = {.container = c, .hooks = hooks};
    ease__failure failure = {0};

    if (first || !c->watch)
        return first;
#pragma omp parallel num_threads(ease__threads(threads))
    {
        ease_error own = {0};
        ease__share share = {omp_get_thread_num(), omp_get_num_threads()};
        ease_status status = EASE_OK;

        for (uint32_t i = 0; !status && i < c->watch->count; i++)
            status = need_section(&v, &c->watch->section[i], share, &own);
        if (status)
            ease__failure_note(&failure, status, &own);
    }
    return atomic_load(&v.cancelled) ? ease__cancelled(err)
                                     : ease__failure_take(&failure, err);
}
