#include "core/fault.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 256 };

static const uintptr_t free_slot = 0, claimed_slot = 1; /* values of `from` */

/* An entry of the table, without a lock because a signal handler reads it. `from` is
 * written last. */
typedef struct slot {
    atomic_uintptr_t from;
    atomic_size_t bytes;
    _Atomic(atomic_bool *) lost;
} slot;

static slot slots[SLOTS];

void ease__fault_watch(const void *from, size_t bytes, atomic_bool *lost)
{
    for (size_t i = 0; i < SLOTS; i++) {
        uintptr_t expected = free_slot;

        if (!atomic_compare_exchange_strong(&slots[i].from, &expected, claimed_slot))
            continue;
        atomic_store(&slots[i].bytes, bytes);
        atomic_store(&slots[i].lost, lost);
        atomic_store(&slots[i].from, (uintptr_t)from);
        return;
    }
}

void ease__fault_forget(const void *from)
{
    for (size_t i = 0; i < SLOTS; i++) {
        uintptr_t expected = (uintptr_t)from;

        if (atomic_compare_exchange_strong(&slots[i].from, &expected, free_slot))
            return;
    }
}

/* Maps zeros in place of the page of the fault, and of all pages that lie wholly in
 * the watched range: replacing them one by one, at each fault, would need as many
 * mappings. */
static bool replace_pages(uintptr_t from, size_t bytes, uintptr_t fault)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t top = (from + page - 1) / page * page, end = (from + bytes) / page * page;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

    fault = fault / page * page;
    /* NOLINTBEGIN(performance-no-int-to-ptr): a fault is an address. */
    if (mmap((void *)fault, page, PROT_READ, flags, -1, 0) == MAP_FAILED)
        return false;
    return top >= end ||
           mmap((void *)top, end - top, PROT_READ, flags, -1, 0) != MAP_FAILED;
    /* NOLINTEND(performance-no-int-to-ptr) */
}

int ease_handle_fault(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    int saved = errno, handled = 0;

    for (size_t i = 0; i < SLOTS && !handled; i++) {
        uintptr_t from = atomic_load(&slots[i].from);
        size_t bytes = atomic_load(&slots[i].bytes);
        atomic_bool *lost = atomic_load(&slots[i].lost);

        /* Read again: if `from` is unchanged, all three values belong to one
         * mapping. */
        if (from <= claimed_slot || at < from || at - from >= bytes ||
            atomic_load(&slots[i].from) != from)
            continue;
        atomic_store(lost, true);
        handled = replace_pages(from, bytes, at);
    }
    errno = saved;
    return handled;
}
