"""Notebooks: the example, one output for each call, and what is shown of objects."""

import glob
import html.parser
import io
import os

import numpy as np
import pytest

import ease
from conftest import ROOT
from ease import _progress

BAD = '<script>alert("x")</script>&<b>\udce9\x07'
ROWS = {"user": ["ann", "ann", "bob", "bob", "cat", "dan", "dan"],
        "item": [BAD, "tea", BAD, "tea", "tea", "milk", BAD]}
TAGS = {"div", "span", "table", "thead", "tbody", "tr", "th", "td", "b", "code", "figure",
        "figcaption", "svg", "title", "path", "rect", "circle"}


class Checked(html.parser.HTMLParser):
    """Only tags that are ours, all of them closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        assert not any(name.startswith("on") for name, _ in attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in TAGS, tag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def text_of(thing):
    return Checked(thing._repr_html_()).text


def test_what_is_shown_is_escaped():
    model = ease.EASE(lambda_=1.0).fit(ROWS)
    shown = text_of(model)
    assert "EASE(lambda_=1.0)" in shown and "<script>alert" in shown and "4" in shown
    model.set_titles({BAD: "<i>A & B</i>", "tea": "Tea " + "x" * 100})
    assert "<i>A & B</i>" in text_of(model) and "x" * 80 not in text_of(model)
    why = model.explain("x", [BAD, "milk"], "tea")
    shown = text_of(why)
    assert "<i>A & B</i>" in shown and "Tea x" in shown and f"score {why.score:.4f}" in shown
    assert all(f"{part:+.4f}" in shown for _, part in why.contributions)
    assert "interactions7" in text_of(ease.interactions(ROWS))
    assert "not fitted" in text_of(ease.EASE(lambda_=1.0))
    assert "<script>" in text_of(ease.EASE(lambda_=1.0, workdir=BAD))


def test_what_is_shown_has_the_figures(X):
    model = ease.EASE(lambda_=20.0).fit(X)
    report = ease.evaluate(model, *ease.hold_out(X), metrics="ndcg@10,coverage@5")
    shown = text_of(report)
    assert f"{report['ndcg@10']:.5f}" in shown and f"{report.standard_error['ndcg@10']:.5f}" in shown
    assert f"{report.info['users']} users" in shown and "nan" not in shown
    for found in (ease.tune(X, metric="ndcg@5"),
                  ease.tune(X, ease.ItemItem(), grid={"neighbours": [3, 9], "similarity": ["cosine"]},
                            metric="ndcg@5"),
                  ease.tune(X, ease.EDLAE(lambda_=1.0), metric="ndcg@5"),
                  ease.tune(X, ease.Popularity(), grid={}, metric="ndcg@5")):
        shown = text_of(found)
        assert f"{found.best_score:.5f}" in shown and found.protocol in shown
    x = ease.interactions(X)
    assert f"{x.nnz:,}" in text_of(x)
    for other in (ease.Popularity(), ease.WMF(rank=4, iterations=2), ease.LRec(l2=1.0),
                  ease.EASESparse(lambda_=1.0, neighbours=5)):
        assert "30" in text_of(other.fit(X))
    assert "users" in text_of(ease.interactions(X[:1]))
    assert "0" in text_of(ease.interactions(X[:2] * 0))


def test_an_explanation_is_a_tuple_with_titles():
    import pickle

    model = ease.EASE(lambda_=1.0).fit(ROWS)
    model.set_titles({"tea": "Tea"})
    why = pickle.loads(pickle.dumps(model.explain("x", ["tea"], "milk")))
    score, contributions, base = why
    assert why.item == "milk" and why.title is None and why.titles == {"tea": "Tea"}
    assert contributions[0][0] == "tea" and base + contributions[0][1] == pytest.approx(score)
    assert repr(why).startswith("Explanation(score=")


class Handle:
    def __init__(self, shown):
        self.texts = [repr(shown)]

    def update(self, shown):
        self.texts.append(repr(shown))


def test_the_line_of_a_notebook_is_one_output(monkeypatch):
    display = pytest.importorskip("IPython.display")
    handles = []
    monkeypatch.setattr(display, "display", lambda shown, display_id: (
        handles.append(Handle(shown)) or handles[-1]))
    monkeypatch.setattr(_progress, "INTERVAL", 0.0)
    with _progress.NotebookBar("EASE.fit", delay=0) as bar:
        bar("solving", 0.5)
        bar("solving", 1.0)
    assert len(handles) == 1 and handles[0].texts[0].startswith("solving [####")
    assert len(handles[0].texts) == 3 and handles[0].texts[2] == "EASE.fit: done in 0.0 s"
    with pytest.raises(KeyboardInterrupt), _progress.NotebookBar("EASE.fit", delay=0) as bar:
        bar("solving", 0.5)
        raise KeyboardInterrupt
    assert handles[1].texts[-1] == "EASE.fit: stopped after 0.0 s"
    with _progress.NotebookBar("EASE.fit", delay=9) as bar:  # too soon for a line
        bar("solving", 0.5)
    assert len(handles) == 2


def execute(notebook, place):
    pytest.importorskip("ipykernel")
    run = pytest.importorskip("nbconvert.preprocessors").ExecutePreprocessor(
        timeout=600, kernel_name="python3")
    run.preprocess(notebook, {"metadata": {"path": place}})
    return notebook


def test_a_call_leaves_one_output_in_a_notebook(tmp_path):
    """As nbconvert runs it: progress of all parts of a call is one output, and so is what a
    cell ends with."""
    nbformat = pytest.importorskip("nbformat").v4
    cells = ["import numpy as np, ease\nease._progress.DELAY = ease._progress.INTERVAL = 0.0\n"
             "ease._progress.Bar.__init__.__defaults__ = (None, 0.0)\n"
             "ease._progress.NotebookBar.__init__.__defaults__ = (0.0,)\n"
             "r = np.random.default_rng(0)\n"
             "frame = {'user': r.integers(0, 2000, 90000), 'item': r.integers(0, 2500, 90000)}\n"
             "large = {'user': r.integers(0, 2000, 90000), 'item': r.integers(0, 5000, 90000)}",
             # What ends within a tenth of a second reports no progress.
             "model = ease.EASE(lambda_=1.0).fit(large, columns='user,item')",
             "wmf = ease.WMF(rank=32, iterations=100).fit(frame, columns='user,item')",
             "found = ease.tune(frame, columns='user,item', metric='ndcg@10')",
             "found = ease.tune(frame, ease.MultDAE(hidden=8, epochs=30), columns='user,item',\n"
             "                  grid={'decay': [0.0, 0.1]}, metric='ndcg@10')",
             "model", "model.recommend(3, as_frame=True)"]
    made = execute(nbformat.new_notebook(cells=[nbformat.new_code_cell(c) for c in cells]), tmp_path)
    outputs = [c["outputs"] for c in made["cells"]]
    assert outputs[0] == []
    ends = ["EASE.fit", "WMF.fit", "ease.tune", "ease.tune"]
    for end, found in zip(ends, outputs[1:5]):
        assert [o["output_type"] for o in found] == ["display_data"], (end, found)
        assert found[0]["data"]["text/plain"].startswith(f"{end}: done in ")
    assert [len(found) for found in outputs[5:]] == [1, 1]
    assert "<svg" in outputs[5][0]["data"]["text/html"]


@pytest.mark.parametrize("path", sorted(glob.glob(os.path.join(ROOT, "examples/python/*.ipynb"))),
                         ids=os.path.basename)
def test_the_examples_run(path):
    nbformat = pytest.importorskip("nbformat")
    for name in "pandas", "sklearn", "matplotlib":
        pytest.importorskip(name)
    notebook = nbformat.read(path, 4)
    assert all(c["outputs"] == [] and c["execution_count"] is None
               for c in notebook["cells"] if c["cell_type"] == "code"), "clear the outputs"
    execute(notebook, os.path.dirname(path))
    kinds = set()
    for cell in notebook["cells"]:
        outputs = cell.get("outputs", [])
        assert not any(o["output_type"] in ("error", "stream") for o in outputs), cell
        lines = [o for o in outputs if o["output_type"] == "display_data"
                 and " done in " in o["data"].get("text/plain", "")]
        assert len(lines) <= (3 if "cross_val_score" in cell["source"] else 1), cell
        for o in outputs:
            kinds |= set(o.get("data", {}))
            if "text/html" in o.get("data", {}) and "<style" not in o["data"]["text/html"]:
                Checked(o["data"]["text/html"])
    assert {"text/html", "image/svg+xml", "image/png"} <= kinds


# ---- figures ---------------------------------------------------------------------------


def all_figures(X):
    model = ease.EASE(lambda_=20.0).fit(X)
    report = ease.evaluate(model, *ease.hold_out(X), metrics="ndcg@10")
    other = ease.evaluate(ease.Popularity().fit(X), *ease.hold_out(X), metrics="ndcg@10")
    both = {"EASE": report, "popularity": other}
    yield "weights", model.plot, 1
    yield "tail", report.plot, 1
    yield "tails", lambda *a, **k: ease.plot_long_tail(both, *a, **k), 1
    yield "lambda", ease.tune(X, metric="ndcg@10").plot, 1
    grid = {"lambda_": [1.0, 10.0, 100.0], "dropout": [0.1, 0.5]}
    yield "settings", ease.tune(X, ease.EDLAE(lambda_=1.0), grid=grid, metric="ndcg@10").plot, 2


def test_every_figure_is_svg_png_pdf_or_on_axes(X, tmp_path):
    figure = pytest.importorskip("matplotlib.figure")
    for name, plot, panels in all_figures(X):
        assert plot()._repr_svg_().startswith("<svg")
        for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
            assert plot(tmp_path / (name + suffix)) is None
            assert (tmp_path / (name + suffix)).read_bytes().startswith(start)
        axes = figure.Figure().subplots(1, panels)
        assert plot(ax=axes) is axes
        assert all(ax.has_data() and ax.get_xlabel() for ax in np.ravel(axes))
        with pytest.raises(ValueError, match=f"{panels} panels"):
            plot(ax=figure.Figure().subplots(1, 3))
        with pytest.raises(ValueError, match="path or ax"):
            plot("x.svg", ax=axes)
        with pytest.raises(ValueError, match="figures are SVG, PNG or PDF"):
            plot(tmp_path / "x.gif")


def test_the_bars_of_an_axis_are_all_weights(X):
    figure = pytest.importorskip("matplotlib.figure")
    model = ease.EASE(lambda_=20.0).fit(X)
    ax = model.plot(ax=figure.Figure().subplots())
    off = np.array(model.B)[~np.eye(30, dtype=bool)]
    shown = sum(p.get_height() for p in ax.patches)
    left = [p for p in ax.patches if p.get_x() + p.get_width() <= 1e-12 and p.get_height()]
    inside = (off >= min(p.get_x() for p in left) - 1e-12)
    assert 0.99 * off.size < shown <= off.size
    assert sum(p.get_height() for p in left) == ((off < 0) & inside).sum()


def test_the_long_tail_counts_lists(X):
    figure = pytest.importorskip("matplotlib.figure")
    model = ease.EASE(lambda_=20.0).fit(X)
    kept, held = ease.hold_out(X)
    report = ease.evaluate(model, kept, held, metrics="ndcg@7")
    line = report.plot(ax=figure.Figure().subplots()).lines[0].get_ydata()
    ids, _ = model.recommend(user_items=kept[np.diff(held.rows()[0]) > 0], N=7)
    assert sorted(line, reverse=True) == list(line)
    assert list(line) == sorted(np.bincount(ids[ids >= 0]), reverse=True)
    other = ease.evaluate(model, kept, held, metrics="ndcg@8")
    with pytest.raises(ValueError, match="lists of the same length"):
        ease.plot_long_tail({"a": report, "b": other})


def test_figures_that_cannot_be(X):
    found = ease.tune(X, ease.Popularity(), grid={}, metric="ndcg@5")
    with pytest.raises(ValueError, match="no figure of parameters"):
        found.plot()
    with pytest.raises(ValueError, match="a dict from 1 to 8 names"):
        ease.plot_long_tail({})


def test_a_terminal_has_a_bar_and_a_file_none():
    out = io.StringIO()
    with _progress.Bar(out, delay=0) as bar:
        bar("solving", 0.5)
    assert out.getvalue().endswith("\r")
    assert isinstance(_progress.watching(False), _progress.Silent)
