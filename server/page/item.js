/* The details of one item: facts, why it has its place, its neighbours. Beside the list
 * on wide screens, else over it. */
import {at, count, make} from "./dom.js";
import {fetchItem} from "./api.js";
import {keyOf, nameOf, subtitleOf} from "./items.js";
import {loadNeighbours, showNeighbours} from "./graph.js";
import {learn, placeInHistory, state} from "./state.js";
import {loadWhy, showWhy} from "./why.js";

const wide = matchMedia("(width >= 62rem)");

let context; /* open(item, model), add, drop, closed(key), models(), list(model) */
let loading = null;
let shown = ""; /* model and key of the item whose details are there */

const panel = () => at("item");

/* ---- its parts ------------------------------------------------------------------- */

function heading() {
    return make("div", {class: "head"},
                make("h2", {id: "item-title", tabindex: "-1", autofocus: true},
                     nameOf(state.item)),
                make("button", {type: "button", class: "close", "aria-label": "Close",
                                onclick: () => panel().close()}, "\u00d7"));
}

/* Which of two models the details are of. */
function choice() {
    const models = context.models();

    if (models.length < 2)
        return null;
    return make("div", {class: "choice", role: "group", "aria-label": "Model"},
                models.map((m) => make("button", {
                    type: "button", "aria-pressed": String(m.name === state.model),
                    onclick: () => context.open(state.item, m.name)}, m.title)));
}

function toggle() {
    const had = placeInHistory(state.item) >= 0;

    return make("button", {type: "button", class: had ? "" : "main", id: "toggle",
                           onclick: () => (had ? context.drop : context.add)(state.item)},
                had ? "Drop from the history" : "Add to the history");
}

/* A title that was not known before takes the place of the id. */
function facts(item) {
    const about = [subtitleOf(item), `popularity ${count(item.popularity)}`];

    learn([item]);
    at("item-title").textContent = nameOf(item);
    return [make("p", {class: "note"}, about.filter(Boolean).join(" \u00b7 ")),
            item.tags.length
                ? make("ul", {class: "tags", "aria-label": "Tags"},
                       item.tags.map((t) => make("li", {}, t.replace("=", ": "))))
                : null];
}

function section(id, title, children) {
    return make("section", {"aria-labelledby": `${id}-title`, id},
                make("h3", {id: `${id}-title`}, title), children);
}

/* ---- loading --------------------------------------------------------------------- */

/* Content, or the reason why there is none: that of one part does not concern others. */
async function tried(promise, show) {
    try {
        return show(await promise);
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        return [make("p", {class: "note"}, error.message)];
    }
}

async function why(signal) {
    const model = context.models().find((m) => m.name === state.model);

    if (!model.info.explains)
        return [make("p", {class: "note"}, `${model.info.method} gives no reasons.`)];
    if (!state.user && !state.history.length)
        return [make("p", {class: "note"}, "With something in the history, this shows what " +
                                           "speaks for the item and what it lacks.")];
    return tried(loadWhy(state.item, state.model, context.list(state.model), signal),
                 showWhy);
}

function around(signal) {
    return tried(loadNeighbours(state.item, state.model, signal), (neighbours) =>
        showNeighbours(neighbours, (item) => context.open(item, state.model)));
}

async function load(signal) {
    const [about, reasons, similar] = await Promise.all([
        tried(fetchItem(state.item, state.model, signal), facts), why(signal),
        around(signal)]);

    return [...about.filter(Boolean), make("div", {class: "buttons"}, toggle()),
            section("why", "Why, and why not higher", reasons),
            section("near", "Similar items", similar)];
}

/* What the focus is on is drawn again, too. */
function focusedPart() {
    const active = document.activeElement;

    return panel().contains(active) ? active.id || (active.className === "close" && "close")
                                    : null;
}

function restoreFocus(part) {
    if (part === null)
        return;
    (part === "close" ? panel().querySelector(".close") : at(part) || at("item-title"))
        .focus({preventScroll: true});
}

/* ---- showing --------------------------------------------------------------------- */

function reveal() {
    if (panel().open)
        return;
    if (wide.matches)
        panel().show();
    else
        panel().showModal();
}

/* A new item takes the place of the old one at once, with its details to follow. */
function begin() {
    const now = `${state.model} ${keyOf(state.item)}`;
    const fresh = now !== shown || !panel().open;

    if (fresh) {
        const old = panel().querySelector(".body");

        panel().replaceChildren(heading(), choice() || "",
                                old || make("div", {class: "body"}));
        panel().querySelector(".body").classList.add("old");
        reveal();
        panel().scrollTop = 0;
        panel().parentElement.scrollTop = 0;
        at("item-title").focus({preventScroll: true});
    }
    shown = now;
}

/* Shows what the state says: an item, anew after a change of the lists, or none. */
export async function showItem() {
    const mine = new AbortController();

    if (loading)
        loading.abort();
    loading = mine;
    if (!state.item) {
        panel().close();
        return;
    }
    begin();
    try {
        const parts = await load(mine.signal);
        const focus = focusedPart();

        if (loading !== mine)
            return;
        panel().querySelector(".body").replaceWith(make("div", {class: "body"}, parts));
        restoreFocus(focus);
    } catch (error) {
        if (error.name !== "AbortError")
            throw error;
    }
}

function onClose() {
    const item = state.item;

    if (panel().open || !item)
        return;
    state.item = null;
    shown = "";
    context.closed(item);
}

export function startItem(what) {
    context = what;
    panel().addEventListener("close", onClose);
    panel().addEventListener("keydown", (event) => {
        if (event.key === "Escape" && wide.matches)
            panel().close();
    });
    wide.addEventListener("change", () => {
        if (!panel().open)
            return;
        panel().close();
        reveal();
    });
}
