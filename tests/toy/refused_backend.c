/* Shared objects that the loader must refuse: without the entry, of another ABI, or
 * with an incomplete table. REFUSED says which. */
#include "solve/backend.h"

#define NO_ENTRY   1
#define OTHER_ABI  2
#define INCOMPLETE 3

__attribute__((visibility("default"))) const ease_backend *
ease_backend_v1(uint32_t abi);
__attribute__((visibility("default"))) const ease_backend *something_else(uint32_t abi);

#if REFUSED == NO_ENTRY
#define ENTRY something_else
#else
#define ENTRY ease_backend_v1
#endif

const ease_backend *ENTRY(uint32_t abi)
{
    static const ease_backend table = {
        .abi = EASE_BACKEND_ABI, .precisions = 1, .name = "refused", .about = "no"};

    return REFUSED == OTHER_ABI || abi != EASE_BACKEND_ABI ? NULL : &table;
}
