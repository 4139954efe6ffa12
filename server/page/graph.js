/* The neighbours of an item: a ring of the most similar ones, and their similarities. */
import {digits, draw, fixed, make} from "./dom.js";
import {fetchSimilar} from "./api.js";
import {colourOf} from "./colours.js";
import {keyOf, nameOf} from "./items.js";
import {learn, placeInHistory} from "./state.js";

const NODES = 8, LISTED = 12, DEPTH = 50;
const WIDTH = 380, HEIGHT = 298;
const MIDDLE = {x: WIDTH / 2, y: 148};
const RADIUS = {x: 136, y: 108};
const LINE = 15; /* characters of a label's line */

/* ---- data ------------------------------------------------------------------------ */

/* The most similar items, and the similarities among the first of them: [key][key]. */
export async function loadNeighbours(item, model, signal) {
    const answer = await fetchSimilar(item, model, LISTED, signal);
    const items = answer.items.filter((n) => n.similarity > 0);
    const ring = items.slice(0, NODES);
    const lists = await Promise.all(ring.map((n) =>
        fetchSimilar(n, model, DEPTH, signal)));
    const among = new Map(lists.map((list, i) => [
        keyOf(ring[i]), new Map(list.items.map((n) => [keyOf(n), n.similarity]))]));

    learn(items);
    return {item, items, among};
}

function between(among, a, b) {
    return among.get(keyOf(a))?.get(keyOf(b)) || among.get(keyOf(b))?.get(keyOf(a)) || 0;
}

/* Around the ring, each item beside one that it is similar to. */
function arranged(ring, among) {
    const left = ring.slice(1);
    const order = ring.slice(0, 1);

    while (left.length) {
        const last = order[order.length - 1];
        const likeness = left.map((n) => between(among, last, n));

        order.push(...left.splice(likeness.indexOf(Math.max(...likeness)), 1));
    }
    return order;
}

/* ---- drawing --------------------------------------------------------------------- */

/* One or two lines, broken behind a space or a hyphen. */
function lines(text) {
    const cut = (s) => s.length > LINE ? `${s.slice(0, LINE - 1).trimEnd()}\u2026` : s;
    const words = text.match(/[^\s\-/]+[\s\-/]*|[\s\-/]+/g) || [text];
    let first = words.shift();

    while (words.length && (first + words[0]).trimEnd().length <= LINE)
        first += words.shift();
    return words.length ? [cut(first.trim()), cut(words.join("").trim())] : [cut(first)];
}

/* The label is on the outer side of the ring, where it crosses no line to the middle. */
function node(item, at, what, open) {
    const label = lines(nameOf(item));
    const above = what === "around" && at.y < MIDDLE.y - 1;
    const top = at.y + (what === "middle" ? 25 : above ? 1 - 13 * label.length : 21);
    const had = placeInHistory(item) >= 0 ? ` had ${colourOf(keyOf(item))}` : "";

    return draw("g", {class: `node ${what}${had}`, onclick: open},
                draw("title", {}, nameOf(item)),
                draw("circle", {cx: at.x, cy: at.y, r: what === "middle" ? 10 : 7}),
                draw("circle", {cx: at.x, cy: at.y + (above ? -8 : 8), r: 24, class: "target"}),
                draw("text", {x: at.x, y: top}, label.map((line, i) =>
                    draw("tspan", {x: at.x, dy: i ? 13 : 0}, line))));
}

function spoke(at, share) {
    return draw("line", {class: "spoke", x1: MIDDLE.x, y1: MIDDLE.y, x2: at.x, y2: at.y,
                         "stroke-width": 1 + 5 * share});
}

/* Bends away from the middle, whose label it would cross. */
function chord(a, b, share) {
    const x = (a.x + b.x) / 2, y = (a.y + b.y) / 2;

    return draw("path", {class: "chord", "stroke-width": 0.75 + 3 * share,
                         d: `M${a.x} ${a.y}Q${x + (x - MIDDLE.x) * 0.15} ` +
                            `${y + (y - MIDDLE.y) * 0.15} ${b.x} ${b.y}`});
}

function graph({item, items, among}, open) {
    const ring = arranged(items.slice(0, NODES), among);
    const most = items[0].similarity;
    const places = ring.map((n, i) => {
        const angle = 2 * Math.PI * i / ring.length - Math.PI / 2;

        return {x: MIDDLE.x + RADIUS.x * Math.cos(angle),
                y: MIDDLE.y + RADIUS.y * Math.sin(angle)};
    });
    const chords = ring.flatMap((a, i) => ring.slice(i + 1).map((b, j) => {
        const similarity = between(among, a, b);

        return similarity > 0.05 * most
            ? chord(places[i], places[i + 1 + j], Math.min(1, similarity / most)) : "";
    }));

    return draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "graph",
                        "aria-hidden": "true"},
                chords, ring.map((n, i) => spoke(places[i], n.similarity / most)),
                ring.map((n, i) => node(n, places[i], "around", () => open(n))),
                node(item, MIDDLE, "middle", null));
}

/* The same for those who do not see the graph or use the keyboard, and more of it. */
function list(items, open) {
    const places = digits(items[0].similarity);

    return make("ol", {class: "similar"}, items.map((n) =>
        make("li", {},
             make("button", {type: "button", onclick: () => open(n)}, nameOf(n)),
             make("span", {class: "number"}, fixed(n.similarity, places)))));
}

export function showNeighbours(neighbours, open) {
    if (!neighbours.items.length)
        return [make("p", {class: "note"}, "No other item is similar to it.")];
    return [graph(neighbours, open),
            make("p", {class: "note"}, "Thicker lines join items that are more similar."),
            list(neighbours.items, open)];
}
