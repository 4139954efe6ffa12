"""What notebooks show of models, explanations, reports, tunings and interactions.

Colours are those of the surrounding text, but for two that can be read on white and on black,
so that light and dark themes need no style sheet. All texts of data are escaped.
"""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from ._ids import Array

if TYPE_CHECKING:
    from ._base import Explanation, Recommender
    from ._data import Interactions
    from ._measure import Report, Tuning

BLUE, ORANGE = "#3b8fd4", "#df7a2c"
WIDTH, HEIGHT = 220, 64  # of a small figure
LISTED = 12  # rows of a table
LONG = 60  # characters of a title
POINTS = 120  # of a curve
MOST = 50_000_000  # interactions that are counted for a figure

CELL = "text-align:{};padding:1px 10px 1px 0;border:0;background:none;vertical-align:top"


def escape(text: Any) -> str:
    text = str(text).encode("utf-8", "replace").decode()
    return html.escape(text if len(text) <= LONG else text[:LONG - 1] + "…")


def soft(text: str) -> str:
    return f'<span style="opacity:.65;font-weight:normal">{text}</span>'


def number(value: Any) -> str:
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"
    if isinstance(value, (float, np.floating)):
        real = float(value)
        return f"{real:,.0f}" if real.is_integer() and abs(real) < 1e15 else f"{real:.6g}"
    return escape(value)


def table(rows: Iterable[Sequence[str]], head: Optional[Sequence[str]] = None,
          right: Sequence[int] = ()) -> str:
    """Of cells that are HTML; the columns `right` are aligned to the right."""
    def line(tag: str, cells: Sequence[str]) -> str:
        style = [CELL.format("right" if k in right else "left") for k in range(len(cells))]
        return "<tr style=\"background:none\">" + "".join(
            f'<{tag} style="{s}">{c}</{tag}>' for s, c in zip(style, cells)) + "</tr>"

    top = f"<thead>{line('th', head)}</thead>" if head else ""
    body = "".join(line("td", row) for row in rows)
    return f'<table style="border:0;margin:2px 0;width:auto;font-size:inherit">{top}<tbody>{body}</tbody></table>'


def beside(*parts: str) -> str:
    cells = "".join(f'<div style="margin-right:28px">{p}</div>' for p in parts if p)
    return f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{cells}</div>'


def page(title: str, *parts: str) -> str:
    return ('<div style="font-size:13px;line-height:1.5;margin:4px 0">'
            f'<div style="font-weight:600">{title}</div>{"".join(parts)}</div>')


def facts(pairs: Iterable[Tuple[str, Any]]) -> str:
    return table(((soft(name), number(value)) for name, value in pairs if value is not None))


def titled(item: Any, title: Optional[str]) -> str:
    """An item: its title, and its id in soft letters."""
    if title is None:
        return escape(item)
    return f"{escape(title)} {soft(escape(item))}"


# ---- small figures --------------------------------------------------------------------


def figure(inner: str, caption: str, about: str = "") -> str:
    """A drawing of WIDTH x HEIGHT with a caption."""
    return (f'<figure style="margin:2px 0;width:{WIDTH}px"><svg xmlns="http://www.w3.org/2000/svg" '
            f'role="img" aria-label="{caption}" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}"><title>{about or caption}</title>{inner}'
            f'<path d="M0 {HEIGHT - .5}H{WIDTH}" stroke="currentColor" stroke-opacity=".35"/></svg>'
            f'<figcaption style="font-size:11px;line-height:1.3;opacity:.65">{caption}'
            "</figcaption></figure>")


def scaled(values: Array, low: float, high: float, size: float) -> Array:
    return (values - low) / (high - low if high > low else 1.0) * size


def tail_figure(counts: Array, caption: str) -> str:
    """Counts in descending order, on two logarithmic axes."""
    counts = np.sort(counts[counts > 0])[::-1].astype(np.float64)
    if len(counts) < 2:
        return ""
    ranks = np.unique(np.geomspace(1, len(counts), POINTS).astype(np.int64))
    x = scaled(np.log(ranks), 0.0, math.log(len(counts)), WIDTH)
    top = math.log(max(counts[0], 2.0))
    y = HEIGHT - 1 - scaled(np.log(np.maximum(counts[ranks - 1], 1)), 0.0, top, HEIGHT - 4)
    line = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y))
    return figure(f'<path d="M0 {HEIGHT}L{line}L{WIDTH} {HEIGHT}Z" fill="{BLUE}" fill-opacity=".25"/>'
                  f'<path d="M{line}" fill="none" stroke="{BLUE}" stroke-width="1.5"/>',
                  f"{caption}: {number(counts[0])} … {number(counts[-1])} (logarithmic axes)")


def histogram(values: Array, width: int = 110, height: int = 18) -> str:
    """Bars of a column of numbers, for a cell."""
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return ""
    counts, edges = np.histogram(values, 20)
    step = width / len(counts)
    bars = "".join(f'<rect x="{k * step:.1f}" y="{height - c / counts.max() * height:.1f}" '
                   f'width="{step - .6:.1f}" height="{c / counts.max() * height:.1f}"/>'
                   for k, c in enumerate(counts) if c)
    about = f"{len(values):,} users, from {edges[0]:.3g} to {edges[-1]:.3g}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{about}" width="{width}" '
            f'height="{height}" fill="{BLUE}"><title>{about}</title>{bars}</svg>')


def bar(value: float, most: float, width: int = 120) -> str:
    """A bar to the right of the middle for what adds, to the left for what takes away."""
    part = 0.0 if most == 0 else value / most * width / 2
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="11" aria-hidden="true">'
            f'<rect x="{width / 2 + min(part, 0):.1f}" y="1" width="{max(abs(part), .5):.1f}" height="9" '
            f'fill="{BLUE if value >= 0 else ORANGE}"/>'
            f'<path d="M{width / 2} 0V11" stroke="currentColor" stroke-opacity=".5"/></svg>')


def trials_figure(name: str, values: Array, means: Array, errors: Array, best: int,
                  metric: str) -> str:
    """Means by a setting, with standard errors and the best trial marked."""
    if len(np.unique(values)) < 2:
        return ""
    logarithmic = values.min() > 0 and values.max() / values.min() >= 10
    places = np.log(values) if logarithmic else values
    errors = np.nan_to_num(errors)
    low, high = float((means - errors).min()), float((means + errors).max())
    x = 6 + scaled(places, places.min(), places.max(), WIDTH - 12)
    y = HEIGHT - 8 - scaled(means, low, high, HEIGHT - 16)
    half = errors / (high - low if high > low else 1.0) * (HEIGHT - 16)
    marks = "".join(
        f'<path d="M{a:.1f} {b - e:.1f}V{b + e:.1f}" stroke="currentColor" stroke-opacity=".4"/>'
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{4 if k == best else 2.5}" '
        f'fill="{ORANGE if k == best else BLUE}"><title>{escape(name)} {v:.6g}: {m:.5f}</title>'
        "</circle>" for k, a, b, e, v, m in sorted(
            zip(range(len(x)), x, y, half, values, means), key=lambda mark: mark[0] == best))
    scale = ", logarithmic" if logarithmic else ""
    return figure(marks, f"{escape(metric)} by {escape(name)}, {values.min():.4g} … "
                         f"{values.max():.4g}{scale}")


# ---- what is shown --------------------------------------------------------------------


def show_model(model: "Recommender") -> str:
    name = f"<code style=\"background:none\">{escape_long(repr(model))}</code>"
    if model._model is None:
        return page(name, soft("not fitted"))
    info, popularity = model.info, model.popularity
    titles = model._titles()
    settings = info["settings"].replace(",", ", ") or None
    items = facts([("method", info["method"]), ("settings", settings),
                   ("items", info["items"]), ("users", at_least(info["users"])),
                   ("interactions", at_least(info["interactions"])),
                   ("lambda", info["lambda"] or None), ("updates", info["updates"] or None),
                   ("titles", None if titles is None else sum(t is not None for t in titles)),
                   ("tags", info["tags"] or None)])
    best = np.argsort(-popularity, kind="stable")[:5 if popularity.any() else 0]
    top = table((str(k + 1), titled(model.item_ids[i], None if titles is None else titles[i]),
                 number(float(popularity[i]))) for k, i in enumerate(best))
    return page(name, beside(items, tail_figure(popularity, "popularity of the items"),
                             f"{soft('most popular')}{top}" if len(best) else ""))


def escape_long(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode())


def at_least(count: int) -> Optional[int]:
    return None if count < 0 else count


def show_explanation(why: "Explanation") -> str:
    most = max((abs(v) for _, v in why.contributions), default=0.0)
    rows = [(titled(item, why.titles.get(item)), bar(value, most), f"{value:+.4f}")
            for item, value in why.contributions[:3 * LISTED]]
    left = len(why.contributions) - len(rows)
    if left > 0:
        rows.append((soft(f"… {left:,} more"), "", ""))
    rest = why.score - why.base - sum(v for _, v in why.contributions)
    if abs(rest) > 1e-4 * max(1.0, abs(why.score)):
        rows.append((soft("all other items of the history"), "", f"{rest:+.4f}"))
    if why.base:
        rows.append((soft("base of the item"), "", f"{why.base:+.4f}"))
    what = "" if why.item is None else titled(why.item, why.title) + ": "
    return page(f"{what}score {why.score:.4f}, because of", table(rows, right=(2,)))


def show_report(report: "Report") -> str:
    rows: List[Sequence[str]] = []
    for name, mean in report.items():
        error = report.standard_error[name]
        rows.append((escape(name), f"{mean:.5f}", "" if math.isnan(error) else soft(f"± {error:.5f}"),
                     histogram(report.by_user(name))))
    notes = [f"{report.info['users']:,} users"]
    strange = report.info["unknown_targets"]
    if strange:
        notes.append(f"{strange:,} held-out items are unknown to the model and "
                     + ("count as misses" if report.unknown == "miss" else "are left out"))
    for name, words in (("refused", "users are refused"), ("without_target", "users without target")):
        if report.info[name]:
            notes.append(f"{report.info[name]:,} {words}")
    if report.info["approximate"]:
        notes.append("approximate")
    return page(f"Evaluation {soft('; '.join(notes))}",
                table(rows, ("metric", "mean", "standard error", "users by value"), (1,)))


def show_tuning(tuning: "Tuning") -> str:
    best = tuning.trials.index(tuning.best_trial)
    means, errors = (np.array([getattr(t, f) for t in tuning.trials], np.float64)
                     for f in ("mean", "standard_error"))
    sign = -1 if tuning.best_score < np.nanmean(means) else 1
    order = [best] + [int(k) for k in np.argsort(-sign * np.nan_to_num(means), kind="stable")
                      if k != best]
    names = list(tuning.best_params)
    rows = [[*(number(tuning.trials[k].params.get(n)) for n in names), f"{means[k]:.5f}",
             "" if math.isnan(errors[k]) else soft(f"± {errors[k]:.5f}"),
             soft(f"{tuning.trials[k].seconds:.2f} s")] for k in order[:LISTED]]
    rows[0] = [f"<b>{c}</b>" for c in rows[0]]
    more = len(order) - len(rows)
    listed = table(rows, [*map(escape, names), escape(tuning.metric), "", ""],
                   range(len(names) + 1))
    if more:
        listed += soft(f"… {more:,} more trials")
    figures = [trials_figure(name, values, means, errors, best, tuning.metric)
               for name, values, _ in tuning._axes()[:4]]
    chosen = ", ".join(f"{n}={v!r}" for n, v in tuning.best_params.items())
    notes = tuning.protocol + ("; stopped for lack of time" if tuning.stopped else "")
    return page(f"Best of {len(order):,} trials: {escape(chosen)} {soft(escape_long(notes))}",
                beside(listed, "".join(figures)))


def show_interactions(x: "Interactions") -> str:
    users, items = x.shape
    pairs = facts([("users", users), ("items", items), ("interactions", x.nnz),
                   ("density", f"{x.nnz / max(users * items, 1):.3%}"),
                   ("values", "weights" if x.info["weighted"] else "ones"),
                   ("columns", x.info["recognized"] or None)])
    if not 0 < x.nnz <= MOST:
        return page("Interactions", pairs)
    by_user, by_item = x._counts()
    return page("Interactions", beside(
        pairs, tail_figure(by_user, "interactions of the users"),
        tail_figure(by_item, "interactions of the items")))
