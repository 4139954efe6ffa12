/* The memory that this process can still allocate. */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/core.h"

/* Reads a small file under /proc or /sys as a string; false if that fails. */
static bool slurp(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return false;
    got = read(fd, text, size - 1);
    close(fd);
    if (got < 0)
        return false;
    text[got] = '\0';
    return true;
}

/* The number after `key`, or SIZE_MAX ("max", or absent). */
static size_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    if (!at)
        return SIZE_MAX;
    at += strlen(key);
    while (*at == ' ' || *at == '\t')
        at++;
    if (!isdigit((unsigned char)*at))
        return SIZE_MAX;
    return (size_t)strtoull(at, NULL, 10);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The bytes that one control group allows: limit - usage, with page cache counted as
 * free. */
static size_t group_headroom(const char *dir, const char *limit_name,
                             const char *usage_name, const char *cache_key)
{
    char path[512], text[8192];
    size_t limit, usage, cache;

    if (strlen(dir) + 32 > sizeof(path))
        return SIZE_MAX;
    strcpy(stpcpy(path, dir), limit_name);
    if (!slurp(path, text, sizeof(text)))
        return SIZE_MAX;
    limit = number_after(text, "");
    if (limit == SIZE_MAX)
        return SIZE_MAX;
    strcpy(stpcpy(path, dir), usage_name);
    usage = slurp(path, text, sizeof(text)) ? number_after(text, "") : 0;
    strcpy(stpcpy(path, dir), "/memory.stat");
    cache = slurp(path, text, sizeof(text)) ? number_after(text, cache_key) : 0;
    if (usage == SIZE_MAX)
        usage = 0;
    if (cache != SIZE_MAX)
        usage -= smaller(cache, usage);
    return limit > usage ? limit - usage : 0;
}

/* The tightest of this process's group and those above it. `group` is the path from
 * /proc/self/cgroup; in a container it may not be visible, but the root then is. */
static size_t tightest_group(const char *mount, const char *group, const char *limit,
                             const char *usage, const char *cache_key)
{
    size_t least = SIZE_MAX;
    char dir[448];
    size_t base = strlen(mount), length = strcspn(group, "\n");

    if (base + length + 1 > sizeof(dir))
        return SIZE_MAX;
    memcpy(dir, mount, base);
    memcpy(dir + base, group, length);
    dir[base + length] = '\0';
    for (;;) {
        char *slash;

        least = smaller(least, group_headroom(dir, limit, usage, cache_key));
        slash = strrchr(dir + base, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

static size_t cgroup_headroom(void)
{
    char text[4096], *line;
    size_t least = SIZE_MAX;

    if (!slurp("/proc/self/cgroup", text, sizeof(text)))
        return SIZE_MAX;
    line = strstr(text, "0::");
    if (line && (line == text || line[-1] == '\n'))
        least = tightest_group("/sys/fs/cgroup", line + 3, "/memory.max",
                               "/memory.current", "inactive_file ");
    line = strstr(text, ":memory:");
    if (line)
        least = smaller(least, tightest_group("/sys/fs/cgroup/memory", line + 8,
                                              "/memory.limit_in_bytes",
                                              "/memory.usage_in_bytes",
                                              "total_inactive_file "));
    return least;
}

/* The bytes that a resource limit leaves; `key` names the usage that counts against
 * it. */
static size_t resource_headroom(rlim_t limit, const char *key)
{
    char text[4096];
    size_t kib;

    if (limit == RLIM_INFINITY)
        return SIZE_MAX;
    if (!slurp("/proc/self/status", text, sizeof(text)))
        return (size_t)limit;
    kib = number_after(text, key);
    if (kib == SIZE_MAX)
        return (size_t)limit;
    return (size_t)limit - smaller((size_t)limit, kib * 1024);
}

static size_t resources_headroom(void)
{
    struct rlimit space, data;

    if (getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0)
        return SIZE_MAX;
    return smaller(resource_headroom(space.rlim_cur, "VmSize:"),
                   resource_headroom(data.rlim_cur, "VmData:"));
}

size_t ease_memory_available(void)
{
    char text[4096];
    size_t machine = SIZE_MAX, least;

    if (slurp("/proc/meminfo", text, sizeof(text))) {
        size_t kib = number_after(text, "MemAvailable:");

        if (kib != SIZE_MAX)
            machine = kib * 1024;
    }
    least = smaller(machine, smaller(cgroup_headroom(), resources_headroom()));
    if (least == SIZE_MAX)
        return 0;
    return least ? least : 1; /* 0 would mean unknown */
}
