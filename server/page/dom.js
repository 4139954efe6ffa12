/* Elements, numbers and announcements. */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
    for (const [name, value] of Object.entries(properties || {})) {
        if (name.startsWith("on"))
            element.addEventListener(name.slice(2), value);
        else if (value === true)
            element.setAttribute(name, "");
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((c) => c !== null && c !== undefined));
    return element;
}

/* Makes an element: attributes, "onclick" and the like for listeners, then children. */
export function make(tag, properties, ...children) {
    return fill(document.createElement(tag), properties, children);
}

export function draw(tag, properties, ...children) {
    return fill(document.createElementNS(SVG, tag), properties, children);
}

export function at(id) {
    return document.getElementById(id);
}

/* ---- numbers --------------------------------------------------------------------- */

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});

export function count(n) {
    return whole.format(n);
}

/* "1 item", "1,500 items" */
export function plural(n, one) {
    return `${count(n)} ${one}${n === 1 ? "" : "s"}`;
}

/* Digits behind the point with which the largest of some numbers has three digits. */
export function digits(largest) {
    const magnitude = Math.abs(largest);

    if (!(magnitude > 0) || !isFinite(magnitude))
        return 2;
    return Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(magnitude))));
}

function minus(text) {
    return /^-[0.]*$/.test(text) ? text.slice(1) : text.replace("-", "\u2212");
}

export function fixed(n, places) {
    return n === null ? "\u2013" : minus(n.toFixed(places));
}

/* With its sign: a part of a sum. */
export function signed(n, places) {
    const text = fixed(n, places);

    return n > 0 && Number(n.toFixed(places)) !== 0 ? `+${text}` : text;
}

/* Short, whatever the magnitude: "0.5", "3.7e-7". */
export function short(n) {
    return minus(String(Number(n.toPrecision(2))).replace("e-", "e\u2212"));
}

/* ---- announcements --------------------------------------------------------------- */

let waiting;

/* For readers of screens: after a pause, so that typing is not talked over. */
export function announce(text) {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
        at("status").textContent = text;
    }, 400);
}
