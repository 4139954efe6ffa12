/* The page: what is shown follows from the state, which follows from the address. */
import {announce, at, fixed, make} from "./dom.js";
import {Problem, explain, fetchItem, fetchModel, fetchSimilar, findItems, recommend,
        startToken} from "./api.js";
import {idOf, keyOf, nameOf} from "./items.js";
import {giveColours} from "./colours.js";
import {LENGTH, LONGEST, addToHistory, learn, person, placeInHistory, readAddress, state,
        withTitle, writeAddress} from "./state.js";
import {light, showChips} from "./chips.js";
import {describeList, markOpen, showList} from "./list.js";
import {showFacts, titleOf} from "./facts.js";
import {showItem, startItem} from "./item.js";
import {startSearch} from "./search.js";

const REASONS = 50; /* most parts of a bar */
const NAMELESS = 100; /* most items whose titles are asked for one by one */
const POPULAR = 60; /* items that examples begin with */
const PAUSE = 3000; /* ms until a server that is away is asked again */

let models = [];  /* {name, info, title, answer} */
let popular = []; /* items */
const asked = new Set(); /* keys whose titles were asked for */
let done = ""; /* what the user did, to be announced with its effect */
let loading = null;
let retry;

/* ---- problems -------------------------------------------------------------------- */

function showProblem(error) {
    clearTimeout(retry);
    at("problem").hidden = error === null;
    if (error === null)
        return;
    if (!(error instanceof Problem))
        console.error(error);
    at("problem-text").textContent = error.message;
    if (error.code === "unreachable")
        retry = setTimeout(tryAgain, PAUSE);
}

/* Runs what may fail, and says so; what was superseded is silent. */
async function attempt(work) {
    try {
        await work();
    } catch (error) {
        if (error.name !== "AbortError")
            showProblem(error);
    }
}

/* ---- lists ----------------------------------------------------------------------- */

function unknownKeys(answers) {
    const counts = new Map();

    for (const item of answers.flatMap((a) => a.unknown)) {
        const key = keyOf(typeof item === "string" ? {id: item} : item);

        counts.set(key, (counts.get(key) || 0) + 1);
    }
    return new Set([...counts.keys()].filter((k) => counts.get(k) === answers.length));
}

function needsUser() {
    return models.every((m) => m.info.knows_users);
}

function noteOf(model) {
    if (!model.answer.items.length)
        return "Nothing is left to recommend.";
    if (model.answer.fallback && state.history.length)
        return "The model knows none of these items: it recommends what is most popular.";
    if (model.answer.fallback)
        return "Without a history, the most popular items are recommended.";
    if (!model.info.explains)
        return `${model.info.method} gives no reasons for its scores.`;
    if (model !== models[0])
        return model.info.settings || "The same history, by the second model.";
    return "Each bar adds up what in the history speaks for an item (right) and against " +
           "it (left).";
}

function headingOf(model) {
    if (models.length > 1)
        return model.title;
    return model.answer.fallback ? "Most popular" : "Recommended";
}

/* Places of items in the other list, if there are two. */
function elsewhere(model) {
    const other = models.find((m) => m !== model);
    const places = new Map(other?.answer.items.map((item, i) => [keyOf(item), i + 1]));

    return other ? (key) => places.get(key) || 0 : null;
}

function listPart(model, name) {
    return at("results").querySelector(`[data-model="${model.name}"] ${name}`);
}

function drawList(model) {
    const more = listPart(model, ".more");

    listPart(model, "h2").textContent = headingOf(model);
    listPart(model, ".note").textContent = noteOf(model);
    showList(listPart(model, "ol"), model.answer.items,
             {model: model.name, open, add: state.user ? null : add,
              elsewhere: elsewhere(model)});
    more.hidden = state.k >= LONGEST || model.answer.items.length < state.k;
}

function drawAll() {
    const names = state.user ? `user ${state.user}` : state.history.map(nameOf).join(", ");

    giveColours(state.user ? [] : state.history, models.flatMap((m) => m.answer.items));
    showChips(unknownKeys(models.map((m) => m.answer)), popular, actions);
    models.forEach(drawList);
    at("user").value = state.user || "";
    at("power").value = state.power;
    at("power-value").textContent = state.power ? fixed(state.power, 1) : "as scored";
    at("power").setAttribute("aria-valuetext", at("power-value").textContent);
    document.title = names ? `${names} \u2013 ease` : "ease";
}

async function fetchList(model, signal) {
    const reasons = model.info.explains && (state.user || state.history.length)
        ? {reasons: REASONS} : {};

    return recommend({...person(), k: state.k, popularity_power: state.power,
                      model: model.name, ...reasons}, signal);
}

/* Titles of a history that came with a link: an explanation has them all. */
async function learnTitles(signal) {
    const {info, answer} = models[0];
    const nameless = state.history.filter((h) =>
        !withTitle(h).title && !asked.has(keyOf(h))).slice(0, NAMELESS);

    if (!info.has_titles || !nameless.length)
        return;
    nameless.forEach((h) => asked.add(keyOf(h)));
    if (info.explains && answer.items.length) {
        learn((await explain({...person(), item: idOf(answer.items[0])}, signal)).reasons);
    } else {
        const items = await Promise.allSettled(nameless.map((h) =>
            fetchItem(h, "main", signal)));

        learn(items.filter((i) => i.status === "fulfilled").map((i) => i.value));
    }
}

/* A model that was replaced meanwhile has other facts. */
async function renewFacts() {
    if (models.some((m) => m.answer.generation !== m.info.generation)) {
        await loadModels();
        showFacts(models.map((m) => m.info));
    }
}

/* Asks for the lists anew; what is there stays until they come. */
async function refresh() {
    const mine = new AbortController();

    loading?.abort();
    loading = mine;
    if (needsUser() && !state.user)
        return waitForUser();
    const answers = await Promise.all(models.map((m) => fetchList(m, mine.signal)));

    if (loading !== mine)
        return undefined;
    models.forEach((m, i) => {
        m.answer = answers[i];
        m.answer.items.forEach((item) => learn([item, ...(item.reasons || [])]));
    });
    await learnTitles(mine.signal);
    if (loading !== mine)
        return undefined;
    state.history.forEach((h) => Object.assign(h, withTitle(h)));
    showProblem(null);
    drawAll();
    announce(done + models.map((m) => (models.length > 1 ? `${m.title}: ` : "") +
                               describeList(m.answer.items)).join(". "));
    done = "";
    await showItem();
    return renewFacts();
}

/* A model that scores only the users of its data. */
function waitForUser() {
    models.forEach((m) => {
        m.answer = {generation: m.info.generation, unknown: [], items: []};
    });
    drawAll();
    models.forEach((m) => {
        listPart(m, ".note").textContent =
            `${m.info.method} recommends to users of its data only: enter one above.`;
    });
}

/* ---- what one can do ------------------------------------------------------------- */

/* Everything that changes the state: `step` makes the address one to come back to. */
function change(how, step = true) {
    how();
    writeAddress(step);
    return attempt(refresh);
}

function add(item) {
    done = `${nameOf(item)} added. `;
    return change(() => {
        state.user = null;
        addToHistory(item);
    });
}

function drop(item) {
    done = `${nameOf(item)} dropped. `;
    return change(() => state.history.splice(placeInHistory(item), 1));
}

function open(item, model) {
    state.item = withTitle(item);
    state.model = model;
    writeAddress(true);
    markOpen();
    return attempt(showItem);
}

/* A popular item and two of its neighbours: another one each time. */
async function example() {
    const first = popular[Math.floor(Math.random() * popular.length)];
    const near = await fetchSimilar(first, "main", 4);

    learn(near.items);
    return change(() => [first, near.items[0], near.items[2]].forEach((item) =>
        item && addToHistory(item)));
}

const actions = {
    add, drop, light,
    open: (item) => open(item, "main"),
    dropLast: () => change(() => state.history.pop()),
    dropUser: () => change(() => {
        state.user = null;
    }),
    clear: () => {
        at("search").focus();
        return change(() => {
            state.history = [];
        });
    },
    example: () => {
        at("search").focus({preventScroll: true});
        return attempt(example);
    },
    fail: showProblem,
    get needsUser() {
        return needsUser();
    }
};

/* Details were closed: back to the row that they were of. */
function closed(item) {
    const key = CSS.escape(keyOf(item));

    writeAddress(true);
    markOpen();
    (document.querySelector(`#results li[data-key="${key}"] .name`) ||
     document.querySelector(`#chips li[data-key="${key}"] .chip-name`) || at("results"))
        .focus();
}

function onUser(event) {
    event.preventDefault();
    change(() => {
        state.user = at("user").value.trim() || null;
        state.history = state.user ? [] : state.history;
    });
}

function onPower() {
    change(() => {
        state.power = Number(at("power").value);
    }, false);
}

/* ---- starting -------------------------------------------------------------------- */

async function loadModels() {
    const first = await fetchModel("main");
    const rest = await Promise.all(first.server.models.slice(1).map(fetchModel));
    const old = models;

    models = [first, ...rest].map((info, i) => (
        {name: first.server.models[i], info, title: titleOf(info), answer: old[i]?.answer}));
    if (models.length > 1 && models[0].title === models[1].title)
        models.forEach((m) => {
            m.title = `${m.title} (${m.name})`;
        });
}

function buildLists() {
    at("results").classList.toggle("two", models.length > 1);
    at("results").replaceChildren(...models.map((m) =>
        make("section", {class: "list", "data-model": m.name,
                         "aria-labelledby": `title-${m.name}`},
             make("h2", {id: `title-${m.name}`}), make("p", {class: "note"}),
             make("ol", {role: "list"}),
             make("button", {type: "button", class: "more",
                             onclick: () => change(() => {
                                 state.k = Math.min(LONGEST, state.k + LENGTH);
                             }, false)}, "Show more"))));
}

async function begin() {
    await loadModels();
    popular = (await findItems("", POPULAR)).items;
    learn(popular);
    readAddress();
    if (!models.some((m) => m.name === state.model))
        state.model = "main";
    buildLists();
    showFacts(models.map((m) => m.info));
    at("user-form").hidden = !models[0].info.server.users && !needsUser();
    await refresh();
}

function tryAgain() {
    return attempt(models.length && models[0].answer ? refresh : begin);
}

function onAddress() {
    readAddress();
    markOpen();
    attempt(refresh);
}

startToken();
startSearch(actions);
startItem({open, add, drop, closed, models: () => models,
           list: (name) => models.find((m) => m.name === name).answer.items});
at("power").addEventListener("input", onPower);
at("user-form").addEventListener("submit", onUser);
at("clear").addEventListener("click", actions.clear);
at("again").addEventListener("click", tryAgain);
at("skip").addEventListener("click", (event) => {
    event.preventDefault();
    at("results").focus();
});
window.addEventListener("popstate", () => models.length && onAddress());
attempt(begin);
