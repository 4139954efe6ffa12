/* A list of recommendations: one row for an item, with a bar of the reasons' shares. */
import {digits, fixed, make, plural, signed} from "./dom.js";
import {colourOf} from "./colours.js";
import {keyOf, nameOf, subtitleOf} from "./items.js";
import {state} from "./state.js";

const IN_WORDS = 3; /* reasons that are written below a bar */
const SMALL = 0.03; /* of a bar: parts without a colour that are smaller are put together */
const REST = {key: "rest", name: "all others"};
const BASE = {key: "base", name: "the item itself"};

/* ---- parts of a score ------------------------------------------------------------ */

/* The score as a sum: the reasons' contributions, what the item has by itself, and what
 * the reasons leave over. The score includes the factor of popularity. */
export function partsOf(item) {
    const factor = item.factor ?? 1;
    const parts = (item.reasons || []).map((r) => ({
        key: keyOf(r), name: nameOf(r), value: r.contribution * factor}));
    const base = (item.base || 0) * factor;
    const rest = item.score - base - parts.reduce((sum, p) => sum + p.value, 0);

    if (base)
        parts.push({...BASE, value: base});
    if (!parts.length || Math.abs(rest) > 0.005 * Math.abs(item.score))
        parts.push({...REST, value: rest});
    return parts;
}

function sum(parts, sign) {
    return parts.reduce((s, p) => s + Math.max(0, sign * p.value), 0);
}

/* The largest extents of bars on both sides of zero. */
function scaleOf(rows) {
    const above = Math.max(0, ...rows.map((r) => sum(r.parts, 1)));
    const below = Math.max(0, ...rows.map((r) => sum(r.parts, -1)));
    const whole = above + below || 1;

    return {zero: below / whole, whole, places: digits(Math.max(above, below))};
}

function place(element, from, width) {
    element.style.left = `${from * 100}%`;
    element.style.width = `${width * 100}%`;
    return element;
}

/* The same parts, with few in place of many that nobody could tell apart. */
function gathered(parts, scale) {
    const small = (p) => colourOf(p.key) === "crest" &&
                         Math.abs(p.value) < SMALL * scale.whole;
    const others = parts.filter(small);

    if (others.length < 2)
        return parts;
    return [...parts.filter((p) => !small(p)), {...REST, value: sum(others, 1)},
            {...REST, value: -sum(others, -1)}];
}

/* Bars from zero to the right for what speaks for an item, to the left for what speaks
 * against it. */
export function bar(parts, scale) {
    const ends = {1: scale.zero, "-1": scale.zero};
    const segments = gathered(parts, scale).filter((p) => p.value).map((p) => {
        const width = Math.abs(p.value) / scale.whole;
        const sign = Math.sign(p.value);
        const from = sign > 0 ? ends[1] : ends[-1] - width;

        ends[sign] += sign * width;
        return place(make("span", {class: `part ${colourOf(p.key)}`, "data-key": p.key,
                                   title: `${p.name} ${signed(p.value, scale.places)}`}),
                     from, width);
    });
    const zero = place(make("span", {class: "zero"}), scale.zero, 0);

    zero.style.removeProperty("width");
    return make("span", {class: "bar", "aria-hidden": "true"}, segments, zero);
}

function words(parts, places) {
    const named = parts.filter((p) => p.key !== "rest" &&
                                      Number(p.value.toFixed(places)) !== 0);
    const shown = named.slice(0, IN_WORDS);
    const more = named.length - shown.length;

    return [...shown.flatMap((p, i) => [
        i ? " " : "", make("span", {class: `reason ${colourOf(p.key)}`},
                           make("span", {class: "dot", "aria-hidden": "true"}),
                           make("span", {class: "reason-name"}, p.name), " ",
                           make("span", {class: "number"}, signed(p.value, places)))]),
            parts.some((p) => p.key === "rest") ? make("span", {}, " and others")
                : more > 0 ? make("span", {}, ` and ${more} more`) : ""];
}

/* ---- rows ------------------------------------------------------------------------ */

/* Its place compared with that in the list of the other model. */
function moved(number, other) {
    if (other === undefined)
        return null;
    if (other === 0)
        return make("span", {class: "moved only"}, "only here");
    if (other === number)
        return make("span", {class: "moved"}, make("span", {"aria-hidden": "true"}, "="),
                    make("span", {class: "unseen"}, "same place in the other list"));
    return make("span", {class: `moved ${number < other ? "up" : "down"}`},
                make("span", {"aria-hidden": "true"},
                     `${number < other ? "\u25b2" : "\u25bc"}${Math.abs(other - number)}`),
                make("span", {class: "unseen"},
                     `place ${other} in the other list`));
}

function fillRow(li, row, number, scale, context) {
    const {item} = row;
    const name = nameOf(item);
    const subtitle = subtitleOf(item);

    li.dataset.key = keyOf(item);
    li.replaceChildren(
        make("span", {class: "rank", "aria-hidden": "true"}, String(number)),
        make("button", {type: "button", class: "name", "aria-haspopup": "dialog",
                        onclick: () => context.open(item, context.model)},
             make("span", {class: "title"}, name),
             subtitle ? make("span", {class: "subtitle"}, subtitle) : null),
        moved(number, context.elsewhere?.(keyOf(item))) || "",
        make("span", {class: "score number"}, make("span", {class: "unseen"}, "score "),
             fixed(item.score, scale.places)),
        context.add ? make("button", {type: "button", class: "add", title: "Add to the history",
                                      "aria-label": `Add ${name} to the history`,
                                      onclick: () => context.add(item)}, "+") : "",
        bar(row.parts, scale),
        item.reasons ? make("p", {class: "why"}, words(row.parts, scale.places)) : "");
}

/* ---- the list -------------------------------------------------------------------- */

/* What the focus was on: drawing a row again replaces its buttons. */
function focusIn(ol) {
    const li = document.activeElement?.closest?.("li");

    if (!li || !ol.contains(li))
        return null;
    return {li, place: Array.from(ol.children).indexOf(li),
            what: document.activeElement.classList.contains("add") ? ".add" : ".name"};
}

function restoreFocus(ol, focus) {
    const li = focus && (ol.contains(focus.li) ? focus.li
        : ol.children[Math.min(focus.place, ol.children.length - 1)]);

    if (li)
        (li.querySelector(focus.what) || li.querySelector(".name")).focus();
}

function tops(ol) {
    return new Map(Array.from(ol.children, (li) => [li, li.getBoundingClientRect().top]));
}

/* Rows slide to their new places, and new ones appear. */
function animate(ol, before) {
    if (!before.size || matchMedia("(prefers-reduced-motion: reduce)").matches)
        return;
    for (const li of ol.children) {
        const from = before.get(li);
        const by = from === undefined ? 0 : from - li.getBoundingClientRect().top;

        if (from === undefined)
            li.animate([{opacity: 0}, {opacity: 1}], {duration: 250});
        else if (by)
            li.animate([{transform: `translateY(${by}px)`}, {transform: "none"}],
                       {duration: 250, easing: "ease-out"});
    }
}

/* Shows the items in an <ol>; rows of items that stay are kept. `context`: model, open(),
 * add() or null, elsewhere(key): its place in the other list, 0 for none. */
export function showList(ol, items, context) {
    const rows = items.map((item) => ({item, parts: partsOf(item)}));
    const scale = scaleOf(rows);
    const kept = new Map(Array.from(ol.children, (li) => [li.dataset.key, li]));
    const before = tops(ol);
    const focus = focusIn(ol);

    ol.replaceChildren(...rows.map((row, i) => {
        const li = kept.get(keyOf(row.item)) || make("li", {class: "row"});

        fillRow(li, row, i + 1, scale, context);
        return li;
    }));
    markOpen();
    restoreFocus(ol, focus);
    animate(ol, before);
}

/* Marks the row whose details are shown. */
export function markOpen() {
    document.querySelectorAll("#results li").forEach((li) => {
        const open = state.item !== null && li.dataset.key === keyOf(state.item) &&
                     li.closest("section").dataset.model === state.model;

        li.classList.toggle("open", open);
        li.querySelector(".name").setAttribute("aria-expanded", String(open));
    });
}

export function describeList(items) {
    const first = items.slice(0, 3).map(nameOf).join(", ");

    return items.length ? `${plural(items.length, "recommendation")}: ${first}` : "";
}
