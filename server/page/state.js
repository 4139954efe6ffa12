/* What is shown, as the part of the address behind "#", so that a link brings it back and
 * the server's log does not see it:
 * #h=ID&b=BASE64 (the history), u=USER, p=POPULARITY, k=LENGTH, item=h=ID, m=MODEL. */
import {keyOf} from "./items.js";

export const LENGTH = 10, LONGEST = 100;

export const state = {
    history: [], /* items */
    user: null,
    power: 0,
    k: LENGTH,
    item: null, /* whose details are shown */
    model: "main" /* by which model */
};

const titles = new Map(); /* by key: of all items that were seen */

export function learn(items) {
    for (const item of items)
        if (item.title)
            titles.set(keyOf(item), item.title);
}

/* The same item with its title, if it is known. */
export function withTitle(item) {
    const title = titles.get(keyOf(item));

    return title ? {...item, title} : item;
}

export function placeInHistory(item) {
    const key = keyOf(item);

    return state.history.findIndex((h) => keyOf(h) === key);
}

export function addToHistory(item) {
    if (placeInHistory(item) < 0)
        state.history.push({id: item.id, id_base64: item.id_base64, title: item.title});
}

/* ---- the address ----------------------------------------------------------------- */

/* The item of a key; one of an empty id if it is none. */
function parseKey(key) {
    const value = key.slice(2);

    if (key.startsWith("b="))
        return {id_base64: value};
    return {id: key.startsWith("h=") ? value : ""};
}

function validBase64(text) {
    try {
        return atob(text).length > 0;
    } catch {
        return false;
    }
}

function validItem(item) {
    return item.id !== undefined ? item.id !== "" : validBase64(item.id_base64);
}

function limited(text, least, most, otherwise) {
    const n = Number(text);

    return text && isFinite(n) ? Math.min(most, Math.max(least, n)) : otherwise;
}

export function readAddress() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    const item = parseKey(parameters.get("item") || "");

    state.history = [];
    for (const [name, value] of parameters) {
        const one = parseKey(`${name}=${value}`);

        if ((name === "h" || name === "b") && validItem(one))
            addToHistory(withTitle(one));
    }
    state.user = parameters.get("u") || null;
    state.power = Math.round(limited(parameters.get("p"), -1, 1, 0) * 10) / 10;
    state.k = Math.round(limited(parameters.get("k"), 1, LONGEST, LENGTH));
    state.item = validItem(item) ? withTitle(item) : null;
    state.model = parameters.get("m") === "compare" ? "compare" : "main";
}

function address() {
    const parameters = new URLSearchParams();

    if (state.user)
        parameters.append("u", state.user);
    for (const item of state.history)
        parameters.append(keyOf(item)[0], keyOf(item).slice(2));
    if (state.power)
        parameters.append("p", state.power);
    if (state.k !== LENGTH)
        parameters.append("k", state.k);
    if (state.item)
        parameters.append("item", keyOf(state.item));
    if (state.item && state.model !== "main")
        parameters.append("m", state.model);
    return `#${parameters}`;
}

/* Writes the address; `step`: as a new one, to which "back" returns. */
export function writeAddress(step) {
    const hash = address();

    if (hash === (location.hash || "#"))
        return;
    if (step)
        history.pushState(null, "", hash);
    else
        history.replaceState(null, "", hash);
}

/* What requests for lists and explanations have in common. */
export function person() {
    if (state.user)
        return {user: state.user};
    return {history: state.history.map((h) =>
        h.id !== undefined ? h.id : {id_base64: h.id_base64})};
}
