/* Requests to the server, the token, and errors in words. */
import {at} from "./dom.js";
import {segmentOf} from "./items.js";

const STORED = "ease-token";

/* What went wrong, in a sentence for people. */
export class Problem extends Error {
    constructor(code, message) {
        super(message);
        this.code = code;
    }
}

/* ---- the token ------------------------------------------------------------------- */

let asked = null;

/* Asks for a token; requests that fail meanwhile wait for the same one. */
function askForToken() {
    const form = at("token");
    const field = at("token-value");

    asked = asked || new Promise((done) => {
        at("token-text").textContent = sessionStorage.getItem(STORED) === null
            ? "Whoever started it with --token-file can tell it to you."
            : "The server does not accept the token that was entered.";
        field.value = "";
        form.addEventListener("close", () => {
            if (form.returnValue !== "given")
                sessionStorage.removeItem(STORED);
            asked = null;
            done(form.returnValue === "given");
        }, {once: true});
        form.returnValue = "";
        form.showModal();
    });
    return asked;
}

export function startToken() {
    const form = at("token");

    form.querySelector("form").addEventListener("submit", (event) => {
        event.preventDefault();
        sessionStorage.setItem(STORED, at("token-value").value.trim());
        form.close("given");
    });
}

/* ---- requests -------------------------------------------------------------------- */

let open = 0;

function busy(change) {
    open += change;
    at("busy").hidden = open === 0;
}

async function send(path, how) {
    const token = sessionStorage.getItem(STORED);
    const headers = {...how.headers};

    if (token !== null)
        headers.Authorization = `Bearer ${token}`;
    busy(1);
    try {
        return {token, answer: await fetch(path, {...how, headers, cache: "no-store"})};
    } finally {
        busy(-1);
    }
}

async function fetchWithToken(path, how) {
    for (;;) {
        const {token, answer} = await send(path, how);

        if (answer.status !== 401)
            return answer;
        /* Another request may have been given one in the meantime. */
        if (token === sessionStorage.getItem(STORED) && !await askForToken())
            throw new Problem("unauthorized", "This server answers with a token only.");
    }
}

async function read(answer) {
    const type = answer.headers.get("Content-Type") || "";
    const body = type.startsWith("application/json") ? await answer.json() : null;

    if (body && answer.ok)
        return body;
    if (body && body.error)
        throw new Problem(body.error.code, body.error.message);
    throw new Problem("internal", `The server answered with status ${answer.status}.`);
}

/* Returns the parsed answer, or throws a Problem; an AbortError passes. */
async function request(path, how) {
    try {
        return await read(await fetchWithToken(path, how));
    } catch (error) {
        if (error instanceof Problem || error.name === "AbortError")
            throw error;
        throw new Problem("unreachable", "The server does not answer. Is it running?");
    }
}

function get(path, parameters, signal) {
    return request(`${path}?${new URLSearchParams(parameters)}`, {signal});
}

function post(path, body, signal) {
    return request(path, {method: "POST", signal, body: JSON.stringify(body),
                          headers: {"Content-Type": "application/json"}});
}

export const fetchModel = (model) => get("v1/model", {model});
export const findItems = (search, k, signal) => get("v1/items", {search, k}, signal);
export const recommend = (body, signal) => post("v1/recommend", body, signal);
export const explain = (body, signal) => post("v1/explain", body, signal);
export const fetchItem = (item, model, signal) =>
    get(`v1/items/${segmentOf(item)}`, {model}, signal);
export const fetchSimilar = (item, model, k, signal) =>
    get(`v1/items/${segmentOf(item)}/similar`, {model, k}, signal);
