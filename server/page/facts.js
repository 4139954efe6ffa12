/* Facts about the models that are served. */
import {at, count, draw, make, plural, short} from "./dom.js";

const WIDTH = 320, HEIGHT = 96;

export function titleOf(model) {
    return `${model.method}${model.lambda > 0 ? ` \u03bb ${count(model.lambda)}` : ""}`;
}

/* Heights are logarithmic: most weights are nearly zero. */
function histogram(weights) {
    const most = Math.log1p(Math.max(...weights.counts));
    const step = WIDTH / weights.counts.length;
    const span = weights.high - weights.low || 1;
    const zero = -weights.low / span * WIDTH;
    const bars = weights.counts.map((n, i) => {
        const height = Math.log1p(n) / most * HEIGHT;
        const middle = weights.low + (i + 0.5) * span / weights.counts.length;

        return draw("rect", {x: i * step + 0.5, y: HEIGHT - height, width: step - 1, height,
                             class: middle < 0 ? "negative" : "positive"},
                    draw("title", {}, `about ${short(middle)}: ${plural(n, "weight")}`));
    });

    return draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT + 18}`, role: "img",
                        "aria-label": `Histogram of the weights, from ${short(weights.low)} ` +
                                      `to ${short(weights.high)}; most are nearly zero`},
                bars,
                draw("line", {x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT}),
                draw("text", {x: 0, y: HEIGHT + 14}, short(weights.low)),
                zero > 50 && zero < WIDTH - 50
                    ? draw("text", {x: zero, y: HEIGHT + 14, class: "middle"}, "0") : "",
                draw("text", {x: WIDTH, y: HEIGHT + 14, class: "end"}, short(weights.high)));
}

const STORAGE = {f32: "float32", f16: "float16", packed: "packed", other: "its own"};

function pairs(model) {
    const known = (n) => n === null ? null : count(n);

    return [["Method", model.method],
            ["Settings", model.settings || null],
            ["\u03bb", model.lambda > 0 ? count(model.lambda) : null],
            ["Items", count(model.items)],
            ["Users", known(model.users)],
            ["Interactions", known(model.interactions)],
            ["Tags", model.tags ? count(model.tags) : null],
            ["Residual", model.residual > 0 ? short(model.residual) : null],
            ["Weights", STORAGE[model.storage]],
            ["Loaded", new Date(model.loaded * 1000).toLocaleString()]];
}

function facts(model, several) {
    const rows = pairs(model).filter(([, value]) => value !== null);

    return [make("h2", {}, several ? `The model ${titleOf(model)}` : "The model"),
            make("dl", {}, rows.map(([name, value]) =>
                make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
            model.weights && model.weights.low < model.weights.high
                ? make("figure", {}, histogram(model.weights),
                       make("figcaption", {}, `Weights between items, of ` +
                            `${plural(model.weights.sampled_rows, "row")}; heights are ` +
                            `logarithmic`))
                : null];
}

export function showFacts(models) {
    const model = models[0];
    const about = [titleOf(model), plural(model.items, "item"),
                   model.users === null ? null : plural(model.users, "user")];

    at("summary").textContent = about.filter(Boolean).join(" \u00b7 ");
    at("facts").replaceChildren(...models.flatMap((m) =>
        facts(m, models.length > 1)).filter(Boolean));
}
