/* The history as chips, and how to begin one. */
import {at, make} from "./dom.js";
import {colourOf} from "./colours.js";
import {keyOf, nameOf} from "./items.js";
import {state} from "./state.js";

const BEGINNINGS = 4;

function chip(item, unknown, actions) {
    const key = keyOf(item);
    const name = nameOf(item);

    return make("li", {class: `chip ${colourOf(key)}${unknown ? " unknown" : ""}`,
                       "data-key": key,
                       onmouseenter: () => actions.light(key),
                       onmouseleave: () => actions.light(null),
                       onfocusin: () => actions.light(key),
                       onfocusout: () => actions.light(null)},
                make("span", {class: "dot", "aria-hidden": "true"}),
                unknown
                    ? make("span", {class: "chip-name"}, name,
                           make("small", {}, " not in the model"))
                    : make("button", {type: "button", class: "chip-name",
                                      onclick: () => actions.open(item)}, name),
                make("button", {type: "button", class: "chip-drop",
                                "aria-label": `Drop ${name}`,
                                onclick: () => actions.drop(item)}, "\u00d7"));
}

function userChip(actions) {
    return make("li", {class: "chip"},
                make("span", {class: "chip-name"}, `user ${state.user}`),
                make("button", {type: "button", class: "chip-drop",
                                "aria-label": `Drop user ${state.user}`,
                                onclick: actions.dropUser}, "\u00d7"));
}

function beginnings(popular, actions) {
    const buttons = popular.slice(0, BEGINNINGS).map((item) =>
        make("button", {type: "button", class: "quiet", onclick: () => actions.add(item)},
             `+ ${nameOf(item)}`));

    return ["Nothing yet. Search, begin with ", ...buttons, " or ",
            make("button", {type: "button", class: "quiet", id: "example",
                            onclick: actions.example}, "try an example")];
}

function focusedChip() {
    return Array.from(at("chips").children).findIndex((c) =>
        c.contains(document.activeElement));
}

/* Chips that are drawn again keep the focus: that of a dropped one goes to the next. */
function keepFocus(place) {
    const drops = at("chips").querySelectorAll(".chip-drop");

    if (place < 0)
        return;
    if (drops.length)
        drops[Math.min(place, drops.length - 1)].focus();
    else
        at("search").focus();
}

/* `unknown`: keys of items that no model knows; `popular`: items to begin with. */
export function showChips(unknown, popular, actions) {
    const place = focusedChip();
    const chips = state.user
        ? [userChip(actions)]
        : state.history.map((h) => chip(h, unknown.has(keyOf(h)), actions));
    const start = at("start");

    at("chips").replaceChildren(...chips);
    at("chips").hidden = chips.length === 0;
    if (chips.length === 0 && !actions.needsUser)
        start.replaceChildren(...beginnings(popular, actions));
    else
        start.replaceChildren();
    at("clear").hidden = chips.length < 2;
    keepFocus(place);
}

/* Shows the part of one item of the history, and dims all others. */
export function light(key) {
    document.querySelectorAll("#results .part").forEach((part) =>
        part.classList.toggle("dim", key !== null && part.dataset.key !== key));
}
