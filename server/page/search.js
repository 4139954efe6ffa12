/* The field that finds items as one types: a combobox with a list box. */
import {announce, at, count, make} from "./dom.js";
import {findItems} from "./api.js";
import {nameOf, subtitleOf} from "./items.js";
import {learn, placeInHistory, state} from "./state.js";

const MOST = 8;

let actions; /* add(item), dropLast(), fail(error) */
let found = [];
let active = -1;
let searching = null;

const field = () => at("search");
const list = () => at("found");

/* ---- the list -------------------------------------------------------------------- */

/* The text with what was typed marked: all of it, or the beginnings of words. */
function marked(text, typed) {
    const quoted = [typed, ...typed.split(/\s+/)].filter(Boolean).map((part) =>
        part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    const parts = quoted.length
        ? text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${quoted.join("|")})`, "iu")) : [text];

    return parts.map((part, i) => i % 2 ? make("mark", {}, part) : part);
}

function option(item, number) {
    const text = field().value.trim();
    const subtitle = subtitleOf(item);
    const had = placeInHistory(item) >= 0;

    return make("li", {id: `found-${number}`, role: "option", "aria-selected": "false",
                       onclick: () => choose(number)},
                make("span", {class: "found-name"}, marked(nameOf(item), text)),
                subtitle ? make("span", {class: "found-id"}, marked(subtitle, text)) : null,
                make("span", {class: "found-count"},
                     had ? "in the history" : count(item.popularity)));
}

function setActive(number) {
    active = number;
    Array.from(list().children).forEach((o, i) => {
        o.setAttribute("aria-selected", String(i === number));
        if (i === number)
            o.scrollIntoView({block: "nearest"});
    });
    if (number >= 0)
        field().setAttribute("aria-activedescendant", `found-${number}`);
    else
        field().removeAttribute("aria-activedescendant");
}

function close() {
    if (searching)
        searching.abort();
    found = [];
    list().hidden = true;
    list().replaceChildren();
    at("none-found").hidden = true;
    field().setAttribute("aria-expanded", "false");
    setActive(-1);
}

function show(items, text) {
    found = items;
    list().replaceChildren(...items.map(option));
    list().hidden = items.length === 0;
    field().setAttribute("aria-expanded", String(items.length > 0));
    at("none-found").hidden = items.length > 0;
    at("none-found").textContent = `No item has \u201c${text}\u201d in its name.`;
    setActive(text && items.length ? 0 : -1);
    announce(items.length ? `${items.length} items` : at("none-found").textContent);
}

/* Suggests what fits the text; without any, the most popular items. */
async function suggest() {
    const text = field().value.trim();
    const mine = new AbortController();

    if (searching)
        searching.abort();
    searching = mine;
    try {
        const answer = await findItems(text, MOST, mine.signal);

        learn(answer.items);
        if (searching === mine)
            show(answer.items, text);
    } catch (error) {
        if (error.name !== "AbortError")
            actions.fail(error);
    }
}

function choose(number) {
    const item = found[number];

    field().value = "";
    close();
    if (placeInHistory(item) >= 0)
        announce(`${nameOf(item)} is in the history already`);
    else
        actions.add(item);
}

/* ---- keys ------------------------------------------------------------------------ */

function move(step) {
    if (list().hidden)
        suggest();
    else
        setActive((active + step + found.length + (active < 0 && step < 0 ? 1 : 0)) %
                  found.length);
}

/* Enter while the answer is under way: adds the first item of it. */
async function enter() {
    if (active < 0 && field().value.trim())
        await suggest();
    if (found[Math.max(active, 0)])
        choose(Math.max(active, 0));
}

function escape() {
    if (list().hidden && at("none-found").hidden)
        field().value = "";
    close();
}

function onKey(event) {
    const act = {ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: enter,
                 Escape: escape}[event.key];

    if (event.isComposing || event.ctrlKey || event.metaKey)
        return;
    if (act) {
        event.preventDefault();
        act();
    } else if (event.key === "Backspace" && !field().value && state.history.length) {
        actions.dropLast();
    }
}

/* "/" goes to the field from everywhere but other fields. */
function onSlash(event) {
    const typing = event.target.closest("input:not([type=range]), textarea, dialog:modal");

    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey)
        return;
    event.preventDefault();
    field().focus();
}

export function startSearch(what) {
    actions = what;
    field().addEventListener("input", suggest);
    field().addEventListener("keydown", onKey);
    field().addEventListener("click", () => list().hidden && suggest());
    field().addEventListener("blur", close);
    list().addEventListener("mousedown", (event) => event.preventDefault());
    document.addEventListener("keydown", onSlash);
}

