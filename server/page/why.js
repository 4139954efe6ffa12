/* Why an item has its place, and what it lacks against the one above it. */
import {digits, fixed, make, signed} from "./dom.js";
import {explain, recommend} from "./api.js";
import {colourOf} from "./colours.js";
import {idOf, keyOf, nameOf} from "./items.js";
import {bar, partsOf} from "./list.js";
import {person, state} from "./state.js";

const ROWS = 12;

/* ---- data ------------------------------------------------------------------------ */

/* The factor by which popularity changes the score of an item that is not in the list. */
async function factorOf(item, model, signal) {
    const answer = state.power === 0 ? null : await recommend(
        {...person(), allow: [idOf(item)], keep_seen: true, k: 1,
         popularity_power: state.power, model}, signal);

    return answer?.items[0]?.factor ?? 1;
}

/* The explanation as an entry of the list: with the factor in its score. */
async function explained(item, listed, model, signal) {
    const [answer, factor] = await Promise.all([
        explain({...person(), item: idOf(item), model}, signal),
        listed ? listed.factor ?? 1 : factorOf(item, model, signal)]);

    return {...answer, factor, score: answer.score * factor};
}

/* What is known about an item's place: `mine`, `above` (the item above it, or the last
 * one of the list if it is not listed), `place` (0: not listed). */
export async function loadWhy(item, model, list, signal) {
    const index = list.findIndex((i) => keyOf(i) === keyOf(item));
    const rival = index < 0 ? list[list.length - 1] : list[index - 1];
    const [mine, above] = await Promise.all([
        explained(item, list[index], model, signal),
        rival ? explained(rival, rival, model, signal) : null]);

    return {mine, above: mine.seen ? null : above, place: index + 1, length: list.length};
}

/* ---- words ----------------------------------------------------------------------- */

function standing({mine, above, place, length}) {
    if (mine.seen)
        return "It is in the history, and so is not recommended.";
    if (place === 1)
        return "Nothing is above it.";
    if (place)
        return `Place ${place}, below ${nameOf(above)}.`;
    if (state.power === 0 && mine.rank)
        return `Place ${mine.rank}: not among the first ${length}, which end with ` +
               `${nameOf(above)}.`;
    return `Not among the first ${length}, which end with ${nameOf(above)}.`;
}

/* The largest part of what it lacks. */
function lacking(rows, total, places) {
    const worst = rows[0];

    if (!worst || worst.difference >= 0 || total.difference >= 0)
        return "";
    return ` It lacks ${fixed(-total.difference, places)}. What counts most is ` +
           `${worst.name}: ${signed(worst.mine, places)} here, ` +
           `${signed(worst.theirs, places)} there.`;
}

/* ---- the table ------------------------------------------------------------------- */

/* A row for each reason of either item, what is lacking most first. */
function compared(mine, above) {
    const rows = new Map();
    const enter = (parts, side) => {
        for (const part of parts) {
            const row = rows.get(part.key) || {...part, mine: 0, theirs: 0};

            row[side] = part.value;
            rows.set(part.key, row);
        }
    };

    enter(partsOf(mine), "mine");
    if (above)
        enter(partsOf(above), "theirs");
    for (const row of rows.values())
        row.difference = row.mine - row.theirs;
    return Array.from(rows.values()).sort((a, b) => above
        ? a.difference - b.difference
        : Math.abs(b.mine) - Math.abs(a.mine));
}

function scaleFor(values) {
    const below = Math.max(0, ...values.map((v) => -v));
    const above = Math.max(0, ...values);
    const whole = below + above || 1;

    return {zero: below / whole, whole, places: digits(whole)};
}

function line(row, against, scale, places) {
    const value = against ? row.difference : row.mine;

    return make("tr", {class: colourOf(row.key)},
                make("th", {scope: "row"}, make("span", {class: "dot", "aria-hidden": "true"}),
                     row.name),
                make("td", {}, signed(row.mine, places)),
                against ? make("td", {}, signed(row.theirs, places)) : null,
                make("td", {class: "shares"}, against ? signed(value, places) : null,
                     bar([{...row, value}], scale)));
}

function table(rows, total, above, places) {
    const scale = scaleFor(rows.map((r) => above ? r.difference : r.mine));
    const shown = rows.slice(0, ROWS);
    const more = rows.length - shown.length;

    return make("table", {},
                make("thead", {}, make("tr", {},
                    make("th", {scope: "col"}, "From"), make("th", {scope: "col"}, "here"),
                    above ? make("th", {scope: "col"}, "there") : null,
                    make("th", {scope: "col"}, above ? "difference" : "share"))),
                make("tbody", {}, shown.map((r) => line(r, above, scale, places)),
                     more ? make("tr", {}, make("th", {scope: "row", colspan: above ? 4 : 3},
                                                `and ${more} more`)) : null),
                make("tfoot", {}, make("tr", {}, make("th", {scope: "row"}, "Score"),
                    make("td", {}, fixed(total.mine, places)),
                    above ? make("td", {}, fixed(total.theirs, places)) : null,
                    make("td", {}, above ? signed(total.difference, places) : null))));
}

export function showWhy(why) {
    const {mine, above} = why;
    const rows = compared(mine, above);
    const total = {mine: mine.score, theirs: above?.score ?? 0};
    const places = digits(Math.max(Math.abs(total.mine), Math.abs(total.theirs),
                                   ...rows.map((r) => Math.abs(r.mine))));

    total.difference = total.mine - total.theirs;
    return [make("p", {}, standing(why), above ? lacking(rows, total, places) : ""),
            table(rows, total, above, places)];
}
