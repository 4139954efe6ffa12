/* Items as the server writes them: {id or id_base64, title}. */

/* A string that differs for all items: also the form in which an address keeps them. */
export function keyOf(item) {
    return item.id !== undefined ? `h=${item.id}` : `b=${item.id_base64}`;
}

export function nameOf(item) {
    return item.title || (item.id !== undefined ? item.id : `bytes ${item.id_base64}`);
}

/* The id below a title, where both are known. */
export function subtitleOf(item) {
    return item.title && item.id !== undefined && item.title !== item.id ? item.id : "";
}

/* An id in a request. */
export function idOf(item) {
    return item.id !== undefined ? item.id : {id_base64: item.id_base64};
}

/* An id as a segment of a path. */
export function segmentOf(item) {
    if (item.id !== undefined)
        return encodeURIComponent(item.id);
    return Array.from(atob(item.id_base64), (c) =>
        `%${c.charCodeAt(0).toString(16).padStart(2, "0")}`).join("");
}
