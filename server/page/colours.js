/* Which items of a history have a colour: all of a short one, else those that count most
 * in the lists. An item keeps its colour as long as it has one. */
import {keyOf} from "./items.js";

const COLOURS = 8;

let slots = new Map(); /* by key: 0 .. COLOURS - 1 */

/* The keys of reasons, those that count most first. */
function byInfluence(items) {
    const influence = new Map();

    for (const item of items)
        for (const reason of item.reasons || [])
            influence.set(keyOf(reason), (influence.get(keyOf(reason)) || 0) +
                                         Math.abs(reason.contribution * (item.factor ?? 1)));
    return Array.from(influence.keys()).sort((a, b) => influence.get(b) - influence.get(a));
}

/* `items`: those of all lists that are shown. */
export function giveColours(history, items) {
    const keys = history.length && history.length <= COLOURS
        ? history.map(keyOf) : byInfluence(items).slice(0, COLOURS);
    const kept = new Map(keys.filter((k) => slots.has(k)).map((k) => [k, slots.get(k)]));
    const taken = new Set(kept.values());
    const free = Array.from({length: COLOURS}, (_, i) => i).filter((i) => !taken.has(i));

    slots = new Map(keys.map((k) => [k, kept.has(k) ? kept.get(k) : free.shift()]));
}

/* The class of what belongs to an item of the history. */
export function colourOf(key) {
    return `c${slots.has(key) ? slots.get(key) : "rest"}`;
}
