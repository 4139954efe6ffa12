/* Which events each table of a split has. */
#include "read/split_files.h"
#include "split/split.h"

static const ease__part_table strong_tables[] = {
    {EASE__TABLE_TRAIN, EASE__TRAIN, 0, false},
    {EASE__TABLE_VALIDATION_INPUT, EASE__VALIDATION_INPUT, 0, true},
    {EASE__TABLE_VALIDATION_TARGET, EASE__VALIDATION_TARGET, 0, true},
    {EASE__TABLE_TEST_INPUT, EASE__TEST_INPUT, 0, true},
    {EASE__TABLE_TEST_TARGET, EASE__TEST_TARGET, 0, true},
    {-1, 0, 0, false}};

static const ease__part_table weak_tables[] = {
    {EASE__TABLE_VALIDATION_TRAIN, EASE__TRAIN, 0, false},
    {EASE__TABLE_TRAIN, EASE__TRAIN | EASE__VALIDATION_TARGET, 0, false},
    {EASE__TABLE_VALIDATION_INPUT, EASE__TRAIN, EASE__VALIDATION_TARGET, true},
    {EASE__TABLE_VALIDATION_TARGET, EASE__VALIDATION_TARGET, 0, true},
    {EASE__TABLE_TEST_INPUT, EASE__TRAIN | EASE__VALIDATION_TARGET, EASE__TEST_TARGET,
     true},
    {EASE__TABLE_TEST_TARGET, EASE__TEST_TARGET, 0, true},
    {-1, 0, 0, false}};

const ease__part_table *ease__part_tables(const ease__split *s)
{
    return s->protocol->strong ? strong_tables : weak_tables;
}

bool ease__user_has(const ease__events *e, uint32_t user, uint8_t parts)
{
    for (int64_t i = e->begin[user]; i < e->begin[user + 1]; i++)
        if (e->part[e->order[i]] & parts)
            return true;
    return false;
}
