#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "core/budget.h"
#include "input/charset.h"
#include "input/datasets.h"
#include "input/zip.h"

const char ease__stage_reading[] = "reading";

enum {
    RAW_BYTES = 1 << 18,  /* compressed bytes that are read at a time */
    READ_BYTES = 1 << 20, /* in one call, so that it can be cancelled soon */
    WAIT_MS = 50,
    UNIT_BYTES = 1 << 16, /* that are converted at a time */
    FIRST_BYTES = 2       /* that tell UTF-16 */
};

typedef enum coding { PLAIN, GZIP, ZSTD, ZIP } coding;

struct ease__input {
    char *name;
    char **files; /* NULL: `name` is the only file */
    size_t file_count, file_at;
    ease_hooks hooks;
    int fd;
    bool regular, ended; /* ended: read() has returned 0 */
    coding coding;
    size_t file_bytes, file_read;
    unsigned char *raw; /* bytes of the file that are not decoded yet */
    size_t raw_at, raw_end;
    bool between; /* no gzip member or zstd frame is open */
    z_stream gzip;
    ZSTD_DStream *zstd;
    ease__zip zip;
    ease__member member;
    char *member_name;
    size_t member_left;
    uLong member_crc;
    /* Texts that are converted: */
    ease__charset charset_given, charset; /* of the caller, and of the current file */
    bool charset_open;                    /* the caller has given none */
    bool charset_settled;
    unsigned char first[FIRST_BYTES]; /* of the file, if they are no mark of UTF-16 */
    size_t first_at, first_end;
    unsigned char *units; /* bytes to be converted, allocated with the first of them */
    size_t unit_count;
    char *converted;
    size_t converted_at, converted_end;
    char *ahead; /* decoded bytes that were peeked at, but not read */
    size_t ahead_at, ahead_end, ahead_capacity;
};

/* ---- the file -------------------------------------------------------------- */

/* The name of the file being read. */
static const char *current(const ease__input *in)
{
    return ease__input_file_name(in, in->file_at);
}

static ease_status ask_hooks(const ease__input *in, ease_error *err)
{
    if (ease__progress(&in->hooks, ease__stage_reading, ease__input_fraction(in)))
        return ease__cancelled(err);
    return EASE_OK;
}

/* Waits for bytes of a pipe, and asks the hooks meanwhile. */
static ease_status wait_for_bytes(const ease__input *in, ease_error *err)
{
    for (;;) {
        struct pollfd p = {.fd = in->fd, .events = POLLIN};
        ease_status status;

        if (poll(&p, 1, WAIT_MS) > 0)
            return EASE_OK;
        status = ask_hooks(in, err);
        if (status)
            return status;
    }
}

/* Reads bytes of the file without decoding; *got is 0 at its end. */
static ease_status fetch(ease__input *in, void *to, size_t size, size_t *got,
                         ease_error *err)
{
    *got = 0;
    if (size > READ_BYTES)
        size = READ_BYTES;
    while (!in->ended) {
        ease_status status = in->regular ? EASE_OK : wait_for_bytes(in, err);
        ssize_t n;

        if (status)
            return status;
        n = read(in->fd, to, size);
        if (n >= 0) {
            *got = (size_t)n;
            in->file_read += (size_t)n;
            in->ended = n == 0;
            return EASE_OK;
        }
        if (errno != EINTR && errno != EAGAIN)
            return ease__fail_errno(err, "%s: cannot read", current(in));
        status = ask_hooks(in, err);
        if (status)
            return status;
    }
    return EASE_OK;
}

static ease_status refill(ease__input *in, ease_error *err)
{
    size_t got = 0;
    ease_status status;

    if (in->raw_at < in->raw_end)
        return EASE_OK;
    status = fetch(in, in->raw, RAW_BYTES, &got, err);
    in->raw_at = 0;
    in->raw_end = got;
    return status;
}

/* ---- decoding: some bytes, or none at the end ------------------------------ */

static ease_status damaged(const ease__input *in, const char *what, ease_error *err)
{
    return ease__fail_at(err, EASE_E_PARSE, (int64_t)in->file_read, "%s: %s %s stream",
                         current(in), what, in->coding == GZIP ? "gzip" : "zstd");
}

static ease_status read_plain(ease__input *in, void *to, size_t size, size_t *got,
                              ease_error *err)
{
    size_t left = in->raw_end - in->raw_at;

    if (!left)
        return fetch(in, to, size, got, err);
    *got = left < size ? left : size;
    memcpy(to, in->raw + in->raw_at, *got);
    in->raw_at += *got;
    return EASE_OK;
}

static ease_status read_gzip(ease__input *in, void *to, size_t size, size_t *got,
                             ease_error *err)
{
    uInt part = size < READ_BYTES ? (uInt)size : READ_BYTES;

    in->gzip.next_out = to;
    in->gzip.avail_out = part;
    while (in->gzip.avail_out == part) {
        ease_status status = refill(in, err);
        int state;

        if (status)
            return status;
        if (in->raw_at == in->raw_end)
            return in->between ? EASE_OK : damaged(in, "truncated", err);
        if (in->between && in->raw[in->raw_at] == 0) { /* zero padding */
            in->raw_at++;
            continue;
        }
        in->between = false;
        in->gzip.next_in = in->raw + in->raw_at;
        in->gzip.avail_in = (uInt)(in->raw_end - in->raw_at);
        state = inflate(&in->gzip, Z_NO_FLUSH);
        in->raw_at = in->raw_end - in->gzip.avail_in;
        *got = part - in->gzip.avail_out;
        if (state == Z_MEM_ERROR)
            return ease__fail(err, EASE_E_NOMEM, "decompressing %s", current(in));
        if (state == Z_STREAM_END) {
            in->between = true;
            inflateReset(&in->gzip);
        } else if (state != Z_OK && state != Z_BUF_ERROR) {
            return damaged(in, "damaged", err);
        }
    }
    return EASE_OK;
}

static ease_status read_zstd(ease__input *in, void *to, size_t size, size_t *got,
                             ease_error *err)
{
    ZSTD_outBuffer to_buffer = {to, size < READ_BYTES ? size : READ_BYTES, 0};

    while (to_buffer.pos == 0) {
        ease_status status = refill(in, err);
        ZSTD_inBuffer from = {in->raw, in->raw_end, in->raw_at};
        bool drained = in->raw_at == in->raw_end;
        size_t left;

        if (status)
            return status;
        if (drained && in->between)
            return EASE_OK;
        left = ZSTD_decompressStream(in->zstd, &to_buffer, &from);
        in->raw_at = from.pos;
        *got = to_buffer.pos;
        if (ZSTD_isError(left))
            return damaged(in, "damaged", err);
        if (drained && to_buffer.pos == 0)
            return damaged(in, "truncated", err);
        in->between = left == 0;
    }
    return EASE_OK;
}

static ease_status read_zip(ease__input *in, void *to, size_t size, size_t *got,
                            ease_error *err)
{
    uInt part = size < READ_BYTES ? (uInt)size : READ_BYTES;
    ease_status status;

    if (part > in->member_left)
        part = (uInt)in->member_left;
    if (part == 0)
        return EASE_OK;
    status = ease__member_read(&in->member, to, part, err);
    if (status)
        return status;
    in->member_left -= part;
    in->member_crc = crc32(in->member_crc, to, part);
    in->file_read = in->member.at;
    if (in->member_left == 0 && in->member_crc != in->member.crc)
        return ease__fail(err, EASE_E_PARSE,
                          "%s: damaged zip file: wrong checksum of %s", current(in),
                          in->member_name);
    *got = part;
    return EASE_OK;
}

static ease_status decode_some(ease__input *in, void *to, size_t size, size_t *got,
                               ease_error *err)
{
    *got = 0;
    switch (in->coding) {
    case GZIP:
        return read_gzip(in, to, size, got, err);
    case ZSTD:
        return read_zstd(in, to, size, got, err);
    case ZIP:
        return read_zip(in, to, size, got, err);
    case PLAIN:
        break;
    }
    return read_plain(in, to, size, got, err);
}

/* ---- charsets -------------------------------------------------------------- */

static ease_status convert_some(ease__input *in, ease_error *err)
{
    size_t got = 0, used = 0;
    ease_status status = decode_some(in, in->units + in->unit_count,
                                     UNIT_BYTES - in->unit_count, &got, err);

    if (status)
        return status;
    in->unit_count += got;
    in->converted_at = 0;
    in->converted_end = ease__charset_convert(in->charset, in->units, in->unit_count,
                                              &used, (unsigned char *)in->converted);
    in->unit_count -= used;
    memmove(in->units, in->units + used, in->unit_count);
    /* At most the first half of a surrogate pair, or a part of it, waits for more. */
    if (in->unit_count > 3 || (got == 0 && in->unit_count))
        return ease__fail(err, EASE_E_PARSE, "%s: damaged or truncated UTF-16 text",
                          current(in));
    return EASE_OK;
}

static bool allocate_units(ease__input *in)
{
    if (!in->units)
        in->units = ease__alloc_array(UNIT_BYTES, 1);
    if (!in->converted)
        in->converted = ease__alloc_array(UNIT_BYTES, EASE__CHARSET_GROWTH);
    return in->units && in->converted;
}

static bool is_utf16(ease__charset c)
{
    return c == EASE__CHARSET_UTF16LE || c == EASE__CHARSET_UTF16BE;
}

/* Recognizes the mark of UTF-16 at the beginning of the current file. */
static ease_status settle_charset(ease__input *in, ease_error *err)
{
    size_t got = 1;

    while (in->first_end < FIRST_BYTES && got) {
        ease_status status = decode_some(in, in->first + in->first_end,
                                         FIRST_BYTES - in->first_end, &got, err);

        if (status)
            return status;
        in->first_end += got;
    }
    in->charset_settled = true;
    in->charset = in->charset_given;
    if (in->first_end == FIRST_BYTES && (in->charset_open || is_utf16(in->charset))) {
        if (memcmp(in->first, "\xff\xfe", FIRST_BYTES) == 0)
            in->charset = EASE__CHARSET_UTF16LE;
        else if (memcmp(in->first, "\xfe\xff", FIRST_BYTES) == 0)
            in->charset = EASE__CHARSET_UTF16BE;
        else
            in->charset = in->charset_given;
        if (is_utf16(in->charset) && (in->first[0] ^ in->first[1]) == 1)
            in->first_end = 0; /* 0xfe ^ 0xff: the mark is no text */
    }
    if (in->charset == EASE__CHARSET_BYTES)
        return EASE_OK;
    if (!allocate_units(in))
        return ease__fail(err, EASE_E_NOMEM, "reading %s", in->name);
    memcpy(in->units, in->first, in->first_end);
    in->unit_count = in->first_end;
    in->first_end = 0;
    return EASE_OK;
}

static size_t give(char *from, size_t *at, size_t end, void *to, size_t size)
{
    size_t count = end - *at < size ? end - *at : size;

    memcpy(to, from + *at, count);
    *at += count;
    return count;
}

static ease_status read_some(ease__input *in, void *to, size_t size, size_t *got,
                             ease_error *err)
{
    *got = 0;
    if (!in->charset_settled) {
        ease_status status = settle_charset(in, err);

        if (status)
            return status;
    }
    if (in->first_at < in->first_end) {
        *got = give((char *)in->first, &in->first_at, in->first_end, to, size);
        return EASE_OK;
    }
    if (in->charset == EASE__CHARSET_BYTES)
        return decode_some(in, to, size, got, err);
    if (in->converted_at == in->converted_end) {
        ease_status status = convert_some(in, err);

        if (status)
            return status;
    }
    *got = give(in->converted, &in->converted_at, in->converted_end, to, size);
    return EASE_OK;
}

/* ---- opening --------------------------------------------------------------- */

static bool starts_with(const ease__input *in, const char *magic, size_t length)
{
    return in->raw_end >= length && memcmp(in->raw, magic, length) == 0;
}

/* True for a zstd frame, or a skippable frame, with which a zstd file may begin. */
static bool is_zstd(const ease__input *in)
{
    return starts_with(in, "\x28\xb5\x2f\xfd", 4) ||
           (in->raw_end >= 4 && (in->raw[0] & 0xf0) == 0x50 &&
            memcmp(in->raw + 1, "\x2a\x4d\x18", 3) == 0);
}

/* True for a zip archive, but not for an .npz, whose members are arrays and which
 * has its own reader. */
static bool is_zip(const ease__input *in)
{
    const size_t head = 30;
    size_t length;

    if (!in->regular || in->files || !starts_with(in, "PK\3\4", 4) ||
        in->raw_end < head)
        return false;
    length = (size_t)in->raw[26] | (size_t)in->raw[27] << 8;
    return length < 4 || in->raw_end < head + length ||
           memcmp(in->raw + head + length - 4, ".npy", 4) != 0;
}

/* False for an archive's directories and the files that macOS adds. */
static bool names_file(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && name[length - 1] != '/' && strncmp(name, "__MACOSX/", 9) != 0;
}

/* Chooses the only file of the archive, or the one with the name of a data set. */
static ease_status choose_member(ease__input *in, ease_error *err)
{
    size_t at = 0, files = 0;
    bool known = false;

    while (!known) {
        char *name = NULL;
        ease_status status = ease__zip_next(&in->zip, &at, &name, err);

        if (status)
            return status;
        if (!name)
            break;
        if (names_file(name)) {
            files++;
            known = ease__names_data(name);
            if (files == 1 || known) {
                char *before = in->member_name;

                in->member_name = name;
                name = before;
            }
        }
        ease__free(name);
    }
    if (files == 1 || known)
        return EASE_OK;
    return ease__fail(err, EASE_E_DATA,
                      "%s: a zip file of %zu files, none with the name of a known data "
                      "set: unpack it",
                      in->name, files);
}

static ease_status open_zip(ease__input *in, ease_error *err)
{
    ease_status status = ease__zip_open(in, 0, &in->zip, err);
    bool found = false;

    if (!status)
        status = choose_member(in, err);
    if (!status)
        status = ease__member_open(&in->zip, in->member_name, &in->member, &found, err);
    in->member_left = in->member.bytes;
    in->member_crc = crc32(0, NULL, 0);
    in->coding = ZIP;
    return status;
}

static ease_status start_decoder(ease__input *in, ease_error *err)
{
    in->between = true;
    if (starts_with(in, "\x1f\x8b\x08", 3)) {
        if (inflateInit2(&in->gzip, 15 + 16) != Z_OK)
            return ease__fail(err, EASE_E_NOMEM, "decompressing %s", current(in));
        in->coding = GZIP;
    } else if (is_zstd(in)) {
        in->zstd = ZSTD_createDStream();
        if (!in->zstd)
            return ease__fail(err, EASE_E_NOMEM, "decompressing %s", current(in));
        in->coding = ZSTD;
    } else if (is_zip(in)) {
        return open_zip(in, err);
    }
    return EASE_OK;
}

static ease_status open_file(ease__input *in, const char *path, ease_error *err)
{
    struct stat st;

    if (strcmp(path, "-") == 0)
        in->fd = STDIN_FILENO;
    else
        in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0 || fstat(in->fd, &st) != 0)
        return ease__fail_errno(err, "%s: cannot open", current(in));
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return ease__fail_errno(err, "%s: cannot read", current(in));
    }
    in->regular = S_ISREG(st.st_mode);
    if (!in->files)
        in->file_bytes = in->regular ? (size_t)st.st_size : 0;
    return EASE_OK;
}

/* The longest magic number has 4 bytes, which a pipe may deliver one by one. */
static ease_status look_at_magic(ease__input *in, ease_error *err)
{
    while (in->raw_end < 4 && !in->ended) {
        size_t got = 0;
        ease_status status = fetch(in, in->raw + in->raw_end, RAW_BYTES - in->raw_end,
                                   &got, err);

        if (status)
            return status;
        in->raw_end += got;
    }
    return start_decoder(in, err);
}

static ease_status start_file(ease__input *in, const char *path, ease_error *err)
{
    ease_status status = open_file(in, path, err);

    return status ? status : look_at_magic(in, err);
}

/* Restores the state before start_file, except for counters. */
static void end_file(ease__input *in)
{
    if (in->coding == GZIP)
        inflateEnd(&in->gzip);
    in->gzip = (z_stream){0};
    ZSTD_freeDStream(in->zstd);
    in->zstd = NULL;
    ease__member_close(&in->member);
    ease__zip_close(&in->zip);
    ease__free(in->member_name);
    in->member_name = NULL;
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    in->fd = -1;
    in->coding = PLAIN;
    in->charset_settled = false;
    in->first_at = in->first_end = in->unit_count = 0;
    in->converted_at = in->converted_end = 0;
    in->ended = false;
    in->raw_at = in->raw_end = 0;
}

static void free_paths(char **paths, size_t count)
{
    for (size_t i = 0; paths && i < count; i++)
        ease__free(paths[i]);
    ease__free(paths);
}

/* Adds up the sizes of the files, from which ease__input_fraction is computed. */
static ease_status add_sizes(ease__input *in, ease_error *err)
{
    for (size_t i = 0; i < in->file_count; i++) {
        struct stat st;

        if (stat(in->files[i], &st) != 0)
            return ease__fail_errno(err, "%s: cannot open", in->files[i]);
        in->file_bytes += S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
    }
    return EASE_OK;
}

static ease_status open_with(const char *name, char **files, size_t count,
                             const ease_hooks *hooks, ease__input **out,
                             ease_error *err)
{
    ease__input *in = ease__alloc_zero(1, sizeof(*in));
    ease_status status = EASE_OK;

    if (!in) {
        free_paths(files, count);
        return ease__fail(err, EASE_E_NOMEM, "reading %s", name);
    }
    in->fd = -1;
    in->zip = EASE__ZIP_NONE;
    in->files = files;
    in->file_count = count;
    in->charset_open = true;
    if (hooks)
        in->hooks = *hooks;
    in->name = ease__copy_string(strcmp(name, "-") == 0 ? "standard input" : name);
    in->raw = ease__alloc_array(RAW_BYTES, 1);
    if (!in->name || !in->raw)
        status = ease__fail(err, EASE_E_NOMEM, "reading %s", name);
    if (!status)
        status = add_sizes(in, err);
    if (!status)
        status = start_file(in, files ? files[0] : name, err);
    if (status) {
        ease__input_close(in);
        return status;
    }
    *out = in;
    return EASE_OK;
}

ease_status ease__input_open(const char *path, const ease_hooks *hooks,
                             ease__input **out, ease_error *err)
{
    if (!path || !*path)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    return open_with(path, NULL, 0, hooks, out, err);
}

ease_status ease__input_open_list(const char *name, char **paths, size_t count,
                                  const ease_hooks *hooks, ease__input **out,
                                  ease_error *err)
{
    return open_with(name, paths, count, hooks, out, err);
}

void ease__input_close(ease__input *in)
{
    if (!in)
        return;
    end_file(in);
    free_paths(in->files, in->file_count);
    ease__free(in->ahead);
    ease__free(in->units);
    ease__free(in->converted);
    ease__free(in->raw);
    ease__free(in->name);
    ease__free(in);
}

ease_status ease__input_next(ease__input *in, bool *more, ease_error *err)
{
    *more = in->file_at + 1 < in->file_count;
    if (!*more)
        return EASE_OK;
    end_file(in);
    in->file_at++;
    return start_file(in, current(in), err);
}

/* ---- reading --------------------------------------------------------------- */

static ease_status read_fully(ease__input *in, char *to, size_t bytes, size_t *got,
                              ease_error *err)
{
    *got = 0;
    while (*got < bytes) {
        size_t part = 0;
        ease_status status = read_some(in, to + *got, bytes - *got, &part, err);

        *got += part;
        if (status || part == 0)
            return status;
    }
    return EASE_OK;
}

ease_status ease__input_read(ease__input *in, void *to, size_t bytes, size_t *got,
                             ease_error *err)
{
    size_t ahead = in->ahead_end - in->ahead_at, more = 0;
    ease_status status;

    if (ahead > bytes)
        ahead = bytes;
    if (ahead)
        memcpy(to, in->ahead + in->ahead_at, ahead);
    in->ahead_at += ahead;
    status = read_fully(in, (char *)to + ahead, bytes - ahead, &more, err);
    *got = ahead + more;
    return status;
}

ease_status ease__input_peek(ease__input *in, size_t bytes, const char **data,
                             size_t *got, ease_error *err)
{
    size_t more = 0;
    ease_status status = EASE_OK;

    if (in->ahead_capacity - in->ahead_at < bytes) {
        size_t capacity = ease__size_add(in->ahead_at, bytes);
        char *grown = ease__realloc_array(in->ahead, capacity, 1);

        if (!grown)
            return ease__fail(err, EASE_E_NOMEM, "reading %s", in->name);
        in->ahead = grown;
        in->ahead_capacity = capacity;
    }
    if (in->ahead_end - in->ahead_at < bytes)
        status = read_fully(in, in->ahead + in->ahead_end,
                            bytes - (in->ahead_end - in->ahead_at), &more, err);
    in->ahead_end += more;
    if (status)
        return status;
    *data = in->ahead + in->ahead_at;
    *got = in->ahead_end - in->ahead_at < bytes ? in->ahead_end - in->ahead_at : bytes;
    return EASE_OK;
}

ease_status ease__input_peek_all(ease__input *in, size_t limit, const char **data,
                                 size_t *got, ease_error *err)
{
    ease__budget budget;
    size_t want = 1 << 16;

    ease__budget_start(&budget, limit);
    for (;; want = ease__size_mul(want, 2)) {
        ease_status status;

        if (!ease__budget_allows(&budget, ease__size_add(want, want / 2)))
            return ease__budget_fail(&budget, in->name, err);
        status = ease__input_peek(in, want, data, got, err);
        if (status || *got < want)
            return status;
    }
}

void ease__input_skip(ease__input *in, size_t bytes)
{
    in->ahead_at += bytes;
}

const char *ease__input_name(const ease__input *in)
{
    return in->name;
}

size_t ease__input_at(const ease__input *in)
{
    return in->file_at;
}

size_t ease__input_files(const ease__input *in)
{
    return in->files ? in->file_count : 1;
}

const char *ease__input_file_name(const ease__input *in, size_t file)
{
    return in->files ? in->files[file] : in->name;
}

const char *ease__input_coding(const ease__input *in)
{
    static const char *const words[][EASE__CHARSETS] = {
        {"", "UTF-16 ", "UTF-16 ", "Latin-1 "},
        {"gzip, ", "gzip, UTF-16 ", "gzip, UTF-16 ", "gzip, Latin-1 "},
        {"zstd, ", "zstd, UTF-16 ", "zstd, UTF-16 ", "zstd, Latin-1 "},
        {"zip, ", "zip, UTF-16 ", "zip, UTF-16 ", "zip, Latin-1 "}};

    return words[in->coding][in->charset];
}

ease_status ease__input_set_charset(ease__input *in, const char *name, ease_error *err)
{
    in->charset_open = false;
    if (ease__charset_named(name, &in->charset_given))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "encoding '%.40s': not utf-8, utf-16 or latin-1",
                      name);
}

size_t ease__input_held(const ease__input *in)
{
    size_t units = in->units ? (size_t)UNIT_BYTES * (1 + EASE__CHARSET_GROWTH) : 0;

    return sizeof(*in) + units + RAW_BYTES + in->ahead_capacity +
           ZSTD_sizeof_DStream(in->zstd);
}

double ease__input_fraction(const ease__input *in)
{
    if (!in->file_bytes)
        return -1.0;
    if (in->file_read >= in->file_bytes)
        return 1.0;
    return (double)in->file_read / (double)in->file_bytes;
}

int ease__input_file(const ease__input *in, size_t *bytes)
{
    if (!in->regular || in->coding != PLAIN)
        return -1;
    *bytes = in->file_bytes;
    return in->fd;
}
