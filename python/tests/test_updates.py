"""Models that are updated, compared with models that are fitted again, by NumPy or not."""

import pickle

import numpy as np
import pytest
from conftest import closed_form, random_matrix

import ease

LAMBDA = 5.0
CLASSES = [
    (ease.EASE, {}), (ease.EASE, {"kind": "covariance"}), (ease.EASE, {"nonnegative": True}),
    (ease.EDLAE, {"dropout": 0.4}), (ease.RLAE, {"relaxation": 0.2}),
    (ease.RDLAE, {"dropout": 0.2, "relaxation": 0.6}), (ease.RescaledEASE, {"power": 0.3}),
    (ease.DAN, {"user_power": 0.0, "item_power": 0.4, "dropout": 0.1}),
    (ease.PropensityEASE, {"propensity": "power", "power": 0.2}),
]
TEA = {"user": ["ann", "ann", "bob", "bob", "cat", "cat"],
       "item": ["tea", "milk", "tea", "milk", "tea", "cake"]}


def same_weights(got, want):
    """Float32 has 6e-8, times the condition numbers of these matrices, which are below 100."""
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def changed(X, seed=7):
    """(was, now, what X is in the end): rows 0 .. 9 change, 10 .. 14 leave, five come."""
    other = random_matrix(seed=seed, weights=(X.data != 1).any()).tolil()
    was, now = X[:15].tolil(), other[:20]
    now[10:15] = 0
    final = np.vstack([now.toarray()[:10], X.toarray()[15:], now.toarray()[15:]])
    return was.tocsr(), now.tocsr(), final


def as_frame(X, come=1000):
    """With values, and ids of strings that are not in the order of the rows. Rows from
    `come` on are of users that nobody knows."""
    users, items = X.nonzero()
    order = np.random.default_rng(2).permutation(len(users))
    return {"user": [f"u{u}" if u < come else f"new{u}" for u in users[order]],
            "item": [f"i{i}" for i in items[order]],
            "rating": np.asarray(X[users, items]).ravel()[order].tolist()}


def in_order(model, items=30):
    """B with the items in the order of their numbers."""
    at = np.argsort([int(str(i).lstrip("i")) for i in model.item_ids])
    assert len(at) == items
    return np.array(model.B)[np.ix_(at, at)]


# ---- updating -------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [False, True])
def test_an_updated_model_has_the_weights_of_the_final_data(weights):
    X = random_matrix(weights=weights)
    was, now, final = changed(X)
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    report = model.update(was, now)  # users with an empty row in now stay, without items
    same_weights(model.B, closed_form(final, LAMBDA))
    assert (report.came, report.left, report.changed) == (5, 0, 15)
    assert (report.added, report.removed) == (now.nnz, was.nnz)
    assert model.updates == 1 and model.info["users"] == 125
    assert report.residual == pytest.approx(model.residual()) and report.residual < 1e-4


@pytest.mark.parametrize("cls, settings", CLASSES)
def test_tables_update_every_class_as_fitting_again_would(cls, settings):
    X = random_matrix(seed=5)
    was, now, final = changed(X)
    model = cls(LAMBDA, updatable=True, **settings).fit(as_frame(X))
    report = model.update(as_frame(was), as_frame(now, 15))
    assert (report.came, report.left, report.changed) == (5, 5, 10)
    assert model.info["users"] == 120
    again = cls(LAMBDA, precision="f64", **settings).fit(final)
    same_weights(in_order(model), np.array(again.B, np.float64))


def test_many_small_updates_stay_exact():
    X = random_matrix(seed=3).toarray()
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    r = np.random.default_rng(4)
    for _ in range(50):
        rows = r.choice(len(X), 4, replace=False)
        fresh = (r.random((4, 30)) < 0.2).astype(X.dtype)
        model.update(X[rows], fresh)
        X[rows] = fresh
    same_weights(model.B, closed_form(X, LAMBDA))
    model.check_data(X)
    assert model.updates == 50 and model.residual() < 1e-5


def test_new_items_join_and_lost_items_have_no_weights():
    X = random_matrix(seed=6).toarray()
    wide = np.hstack([X, np.zeros((120, 3))])
    wide[:7, 30] = wide[5:9, 32] = 1
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    report = model.update(np.hstack([X, np.zeros((120, 3))]), wide)
    assert report.new_items == 3 and report.same == 111
    same_weights(model.B, closed_form(wide, LAMBDA))
    assert model.item_ids.tolist() == list(range(33))
    report = model.update(wide[:9], wide[:9] * (np.arange(33) < 30))
    assert report.lost_items == 2
    same_weights(model.B[:30, :30], closed_form(X, LAMBDA))
    assert (model.B[30:] == 0).all() and (model.B[:, 30:] == 0).all()


def test_data_of_all_kinds_update_a_model(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    extra = {"user": ["dan", "dan"], "item": ["cake", "milk"]}
    pandas.DataFrame(extra).to_csv(tmp_path / "x.csv", index=False)
    want = None
    for now in (extra, pandas.DataFrame(extra), polars.DataFrame(extra), tmp_path / "x.csv",
                ease.interactions(extra)):
        model = ease.EASE(1.0, updatable=True).fit(TEA)
        model.update(now=now)
        want = np.array(model.B) if want is None else want
        np.testing.assert_array_equal(model.B, want)
    frame = {k: TEA[k] + extra[k] for k in TEA}
    same_weights(want, np.array(ease.EASE(1.0).fit(frame).B))


def test_the_keywords_of_the_fit_are_those_of_the_update():
    X = random_matrix(seed=5, weights=True)
    was, now, final = changed(X)
    model = ease.EASE(LAMBDA, updatable=True).fit(as_frame(X), weights=True)
    model.update(as_frame(was), as_frame(now, 15))
    same_weights(in_order(model), closed_form(final, LAMBDA))


def dated(users, seed, first="2024-01-01"):
    """Rows with times in the 60 days after the first one."""
    r = np.random.default_rng(seed)
    rows = [(f"u{u}", f"i{i}", str(np.datetime64(first) + r.integers(60)))
            for u in users for i in r.permutation(12)[:5]]
    return dict(zip(("user", "item", "time"), map(list, zip(*rows))))


def joined(*frames):
    return {name: sum((f[name] for f in frames), []) for name in frames[0]}


def without_histories(model):
    """As a model is that was saved and loaded, except that it knows how it was fitted."""
    return pickle.loads(pickle.dumps(model))


def test_files_are_read_in_the_encoding_of_the_fit(tmp_path):
    for name, user in ("old.csv", "ann"), ("more.csv", "bob"):
        text = f"user,item\n{user},thé\n{user},café\n{user},rhum\n"
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    model = ease.EASE(1.0, updatable=True).fit(tmp_path / "old.csv", encoding="latin-1")
    model.check_data(str(tmp_path / "old.csv"))
    report = model.update(now=tmp_path / "more.csv")
    assert (report.came, report.new_items) == (1, 0)
    assert model.update(was=[tmp_path / "more.csv"]).left == 1  # a list is several files
    model.check_data([tmp_path / "old.csv"])


def test_rows_have_the_ages_of_the_fit():
    old, new = dated(range(40), 1), dated(range(40, 44), 2, "2024-03-01")
    how = {"half_life": 20, "until": "2024-06-01", "since": "2024-01-05"}
    model = ease.EASE(LAMBDA, updatable=True).fit(old, **how)
    model.check_data(old)
    assert model.leave_one_out(old, metrics="mrr@5").info["users"] == 40
    model.update(now=new)
    want = ease.EASE(LAMBDA, precision="f64").fit(joined(old, new), **how)
    assert model.item_ids.tolist() == want.item_ids.tolist()
    same_weights(model.B, np.array(want.B))
    model.check_data(joined(old, new))
    model = without_histories(model)
    assert model.forget(joined(old, new), users=["u3"]).left == 1


def test_ages_that_count_from_the_newest_row_cannot_be_updated():
    old, new = dated(range(40), 1), dated(range(40, 44), 2, "2024-03-01")
    model = ease.EASE(LAMBDA, updatable=True).fit(old, half_life=20)
    model.check_data(old)
    for how in {"now": new}, {"was": old}, {"now": new, "half_life": 30}:
        with pytest.raises(ValueError, match="half_life needs the until of the fit"):
            model.update(**how)
    assert model.leave_one_out(old, metrics="mrr@5").info["users"] == 40
    model = without_histories(model)
    with pytest.raises(ValueError, match="half_life needs the until of the fit"):
        model.forget(old, users=["u3"], unverified=True)
    assert model.forget(old, users=["u3"]).left == 1
    model.update(now=ease.interactions(new, half_life=20, until="2024-06-01"))  # as it says
    model.update(now=dated([77], 3), half_life=None)


def test_whole_data_are_filtered_as_in_the_fit():
    frame = joined(dated(range(40), 1), {"user": ["rare", "u1"], "item": ["i1", "rare"],
                                         "time": ["2024-01-01"] * 2})
    model = ease.EASE(LAMBDA, updatable=True).fit(frame, min_user=2, min_item=2)
    assert model.info["users"] == 40
    model.check_data(frame)
    assert model.leave_one_out(frame, metrics="mrr@5").info["users"] == 40
    model = without_histories(model)
    assert model.forget(frame, users=["u3"]).left == 1
    assert model.update(now={"user": ["new"], "item": ["i1"]}).came == 1  # one row is enough


def test_a_call_that_fails_leaves_the_model_as_it_was():
    class Enough(Exception):
        pass

    def watch(stage, fraction):
        raise Enough(stage)

    X = random_matrix(users=600, items=3000, density=0.02)
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    before = model.recommend(0, X[0])[1]
    with pytest.raises(Enough):
        for _ in range(20):
            model.update(now=X, show_progress=watch)
            model.forget(X, unverified=True)
    before_cut, info = model.recommend(0, X[0])[1], model.info
    with pytest.raises(MemoryError):
        model.set_params(memory_limit=1000).update(now=X)
    assert model.info == info
    np.testing.assert_array_equal(model.recommend(0, X[0])[1], before_cut)
    np.testing.assert_allclose(before_cut, before, atol=1e-4)


def test_an_empty_change_is_no_update(X):
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    before = model._model
    assert model.update(X[:9], X[:9]).same == 9
    assert model.forget(X, users=[]).left == 0
    assert model.updates == 0 and model._model is before


# ---- forgetting -----------------------------------------------------------------------


def test_a_model_that_forgot_users_is_one_without_them(X):
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    dense, rest = X.toarray().astype(np.float64), np.ones(120, bool)
    gone = []
    for user in (3, 50, 119, 0):
        x, P = dense[user], np.linalg.inv(dense[rest].T @ dense[rest] + LAMBDA * np.eye(30))
        report = model.forget(X, users=[user], forgotten=gone)
        gone.append(user)
        assert (report.left, report.removed) == (1, X[user].nnz)
        assert set(report.removals) == {user}
        assert report.removals[user].leverage == pytest.approx(x @ P @ x, abs=1e-5)
        assert report.removals[user].deviation <= report.deviation < 1e-4
        rest[user] = False
        same_weights(model.B, closed_form(X[rest], LAMBDA))
        assert report.residual_before < 1e-4 and report.residual < 1e-4
    with pytest.raises(ValueError, match="not the data of the model"):
        model.check_data(X)
    model.check_data(X[rest])


def test_a_user_is_not_forgotten_twice(X):
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    model.forget(X, users=[3])
    before = np.array(model.B)
    for users, forgotten in (([3], []), ([3, 5], []), ([5], []), ([5], [3, 8])):
        with pytest.raises(ValueError, match="not the data of the model: .* unverified=True"):
            model.forget(X, users=users, forgotten=forgotten)
    with pytest.raises(KeyError, match="user 3 is not in the data"):
        model.forget(X, users=[3], forgotten=[3])
    with pytest.raises(ValueError, match="forgotten: several ids"):
        model.forget(X, users=[5], forgotten=3)
    np.testing.assert_array_equal(model.B, before)
    model.forget(X[5], unverified=True)  # the row alone
    same_weights(model.B, closed_form(np.delete(X.toarray(), [3, 5], axis=0), LAMBDA))


def test_real_users_are_forgotten(ratings):
    data = ease.interactions(str(ratings))
    model = ease.EASE(200.0, updatable=True).fit(data)
    gone = data.user_ids[[5, 7, 100]].tolist()
    report = model.forget(data, users=gone)
    assert list(report.removals) == gone and report.deviation < 1e-4
    with pytest.raises(KeyError, match="is not in the data"):
        model.forget(users=gone)  # by what it remembers
    rest = data.to_scipy()[np.setdiff1d(np.arange(data.shape[0]), [5, 7, 100])]
    same_weights(model.B, np.array(ease.EASE(200.0, precision="f64").fit(rest).B))


def test_users_without_items_are_forgotten_too():
    X = random_matrix(seed=8).toarray()
    X[4] = 0
    for kind in ("counts", "covariance"):
        model = ease.EASE(LAMBDA, kind=kind, updatable=True).fit(X)
        assert model.forget(X, users=[4, 9]).left == 2
        want = ease.EASE(LAMBDA, kind=kind, precision="f64").fit(np.delete(X, [4, 9], axis=0))
        same_weights(model.B, np.array(want.B))
        assert model.info["users"] == 118


# ---- histories ------------------------------------------------------------------------


def test_histories_follow_the_model():
    model = ease.EASE(1.0, updatable=True).fit(TEA)
    model.update(was={"user": ["cat", "cat"], "item": ["tea", "cake"]},
                 now={"user": ["dan", "cat"], "item": ["milk", "honey"]})
    final = {"user": ["ann", "ann", "bob", "bob", "cat", "dan"],
             "item": ["tea", "milk", "tea", "milk", "honey", "milk"]}
    assert model.item_ids.tolist() == ["tea", "milk", "cake", "honey"]
    for user in ("ann", "cat", "dan"):
        items = [i for u, i in zip(final["user"], final["item"]) if u == user]
        got, want = model.recommend(user), model.recommend(user, items)
        assert got[0].tolist() == want[0].tolist() and got[1].tolist() == want[1].tolist()
        assert not set(got[0]) & set(items)
    model.check_data(final)
    model.forget(users=["ann"])
    with pytest.raises(KeyError, match="'ann'"):
        model.recommend("ann")
    with pytest.raises(KeyError, match="'ann' is not in the data"):
        model.forget(users=["ann"])
    assert model.recommend("bob")[0].tolist() == model.recommend("bob", ["tea", "milk"])[0].tolist()


def test_weighted_histories_follow_the_model():
    frame = {"user": [1, 1, 2, 2], "item": [10, 20, 10, 30], "rating": [2.0, 3.0, 1.0, 1.0]}
    model = ease.EASE(1.0, updatable=True).fit(frame, weights=True)
    model.update(now={"user": [3], "item": [10], "rating": [1.0]})
    model.update(now={"user": [4, 4], "item": [10, 40], "rating": [0.5, 4.0]})
    assert model.item_ids.tolist() == [10, 20, 30, 40]
    for user, history in ((1, {10: 2, 20: 3}), (3, {10: 1}), (4, {10: 0.5, 40: 4})):
        np.testing.assert_array_equal(model.recommend(user)[1], model.recommend(user, history)[1])


def test_rows_that_contradict_the_histories_are_refused():
    model = ease.EASE(1.0, updatable=True).fit(TEA)
    for was, now, why in (
            (None, {"user": ["ann"], "item": ["tea"]}, "'ann' is in the model's data already"),
            ({"user": ["zoe"], "item": ["tea"]}, None, "'zoe' of was is not in the model's data"),
            ({"user": ["ann"], "item": ["tea"]}, None, "row of user 'ann' in was is not the one"),
            ({"user": ["ann"] * 3, "item": ["tea", "milk", "gin"]}, None, "gin")):
        with pytest.raises(ValueError, match=why):
            model.update(was, now)
    assert model.updates == 0


def test_matrices_drop_the_histories():
    model = ease.EASE(1.0, updatable=True).fit({"user": [5, 5, 6], "item": [0, 1, 1]})
    model.recommend(5)
    model.update(now=[[1, 1]])
    with pytest.raises(ValueError, match="user_items is required"):
        model.recommend(5)


# ---- leaving users out ----------------------------------------------------------------


def reciprocal_ranks(X, user, target, lambda_):
    """The least and the largest 1 / rank of an item for a user left out, as NumPy has it:
    ranks of scores that float32 cannot tell apart may be either."""
    rest = np.delete(X, user, axis=0)
    history = X[user].copy()
    history[target] = 0
    scores = history @ closed_form(rest, lambda_)
    others = (history == 0) & (np.arange(X.shape[1]) != target)
    slack = 1e-5 * np.abs(scores).max()
    above = (scores[others] > scores[target] + slack).sum()
    about = (scores[others] >= scores[target] - slack).sum()
    return 1 / (1 + about), 1 / (1 + above)


def test_leaving_one_out_is_fitting_without_each_user():
    X = random_matrix(seed=9, density=0.1).toarray().astype(np.float64)
    X = X[X.sum(axis=1) < 5]
    assert X.sum(axis=0).min() > 1
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    found = {}
    for seed in range(40):  # with a share of .2 one item of each user is held out
        report = model.leave_one_out(X, metrics="mrr@30", seed=seed)
        for user, value in zip(report.user_ids, report.by_user("mrr@30")):
            found.setdefault(int(user), []).append(value)
    assert set(found) == set(np.flatnonzero(X.sum(axis=1) > 1)) and len(found) > 50
    for user, values in found.items():
        spans = [reciprocal_ranks(X, user, t, LAMBDA) for t in np.flatnonzero(X[user])]
        assert all(any(low - 1e-9 <= v <= high + 1e-9 for low, high in spans) for v in values)
        assert all(any(low - 1e-9 <= v <= high + 1e-9 for v in values) for low, high in spans)


def test_a_report_of_users_left_out_has_what_others_have():
    model = ease.EASE(1.0, updatable=True).fit(TEA)
    report = model.leave_one_out(metrics=["hit@1", "coverage@2"])
    assert report.user_ids == ["ann", "bob", "cat"] and set(report) == {"hit@1", "coverage@2"}
    assert report["hit@1"] == report.by_user("hit@1").mean()
    assert not report.info["approximate"] and report.info["refused"] == 0
    X = random_matrix()
    model = ease.EDLAE(LAMBDA, updatable=True).fit(X)
    report = model.leave_one_out(X, users=20, seed=1)
    assert report.info["users"] == 20 and len(report.user_ids) == 20
    assert report.info["approximate"] and "; approximate" in repr(report)


def test_what_cannot_be_left_out_is_refused(X):
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    for how, why in (({"share": 1.5}, "share"), ({"share": None}, "share"),
                     ({"users": 0}, "users"), ({"seed": -1}, "seed"),
                     ({"metrics": "luck@5"}, "luck")):
        with pytest.raises(ValueError, match=why):
            model.leave_one_out(X, **how)
    with pytest.raises(ValueError, match="not the data of the model"):
        model.leave_one_out(X[:100])
    with pytest.raises(ValueError, match="X is required"):
        model.leave_one_out()
    for other in (ease.EASE(LAMBDA, nonnegative=True, updatable=True),
                  *(cls(LAMBDA, updatable=True) for cls in (ease.DAN, ease.RescaledEASE,
                                                            ease.PropensityEASE))):
        with pytest.raises(ValueError, match=other._trained_method()):
            other.fit(X).leave_one_out(X)


# ---- models that can be updated -------------------------------------------------------


def test_files_and_pickles_can_be_updated(X, tmp_path):
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    model.update(now=X[:3])
    model.save(tmp_path / "m.ease")
    for back in (ease.load(tmp_path / "m.ease"), pickle.loads(pickle.dumps(model))):
        assert back.updatable and back.updates == 1 and back.info["storage"] == "packed"
        back.update(X[:5], None)
        assert back.updates == 2 and back.get_params() == model.get_params()
    model.save(tmp_path / "lean.ease", storage="f16")
    lean = ease.load(tmp_path / "lean.ease")
    assert not lean.updatable and lean.updates == 0
    with pytest.raises(ValueError, match="lean.ease: the model is not updatable"):
        lean.update(now=X[:3])
    ease.EASE(LAMBDA).fit(X).save(tmp_path / "m.ease")
    assert ease.load(tmp_path / "m.ease").info["storage"] == "f16"


def test_models_that_cannot_be_updated_say_so(X):
    plain = ease.EASE(LAMBDA).fit(X)
    for call in (lambda m: m.update(now=X), lambda m: m.forget(X, users=[0]),
                 lambda m: m.residual(), lambda m: m.check_data(X),
                 lambda m: m.leave_one_out(X)):
        with pytest.raises(ValueError, match="not updatable: train it with the option updatable"):
            call(plain)
        with pytest.raises(ease.NotFittedError):
            call(ease.EASE(LAMBDA, updatable=True))
    for model in (ease.MRF(LAMBDA, updatable=True),
                  ease.EASE(LAMBDA, kind="correlation", updatable=True)):
        with pytest.raises(ValueError, match="cannot be updatable"):
            model.fit(X)
    assert not hasattr(ease.WMF(), "update")


def test_changes_that_make_no_sense_are_refused(X):
    model = ease.EASE(LAMBDA, updatable=True).fit(X)
    named = {"user": ["ann"], "item": [3]}
    for call, why in (
            (lambda: model.update(), "was or now is required"),
            (lambda: model.update(X[:3], named), "a matrix, whose rows have no ids"),
            (lambda: model.forget(), "users is required"),
            (lambda: model.forget(users=[3]), "X is required"),
            (lambda: model.forget(X, users=3), "several ids"),
            (lambda: model.forget(X), "users is required: X is all data"),
            (lambda: model.update(was=np.ones((1, 31))), "unknown to the model"),
            (lambda: model.update(was=np.ones((60, 30))), "has only"),
            (lambda: model.update(now="no-such-file.csv"), "no-such-file")):
        with pytest.raises((ValueError, OSError), match=why):
            call()
    with pytest.raises(TypeError, match="by name"):  # which of the two would it be?
        model.update(X[:3])
    for user in ("ann", 120, None, 3.5):
        with pytest.raises(KeyError, match="is not in the data"):
            model.forget(X, users=[user])
    tables = ease.EASE(1.0, updatable=True).fit(TEA)
    with pytest.raises(ValueError, match="ids of their own"):
        tables.update(now=[[1, 0, 1]])
    assert model.updates == tables.updates == 0


def test_scikit_learn_knows_the_parameter(X):
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV

    model = ease.EASE("auto", updatable=True)
    assert sklearn.base.clone(model).get_params() == model.get_params()
    assert repr(model) == "EASE(lambda_='auto', updatable=True)"
    search = GridSearchCV(ease.RLAE(1.0, updatable=True), {"lambda_": [1.0, 30.0]},
                          scoring=ease.scorer("ndcg@10"), cv=3).fit(X)
    assert search.best_estimator_.forget(X, users=[3]).left == 1
    assert ease.tune(ease.split(X, "random"), model, grid={"lambda_": [1, 10]},
                     metric="ndcg@5").best_estimator.updatable


# ---- lambda ---------------------------------------------------------------------------


def test_an_automatic_lambda_is_best_when_users_are_left_out():
    r = np.random.default_rng(3)
    taste = np.where(np.arange(60) // 20 == r.integers(0, 3, (200, 1)), 0.3, 0.05)
    X = (r.random(taste.shape) < taste).astype(np.float32)
    model = ease.EASE("auto", updatable=True).fit(X)
    chosen = model.info["lambda"]
    assert model.lambda_ == "auto" and chosen > 0
    np.testing.assert_array_equal(model.B, ease.EASE(chosen).fit(X).B)

    def left_out(lambda_):
        fitted = ease.EASE(lambda_, updatable=True).fit(X)
        return fitted.leave_one_out(X, metrics="ndcg@100")["ndcg@100"]

    best = left_out(chosen)
    for factor in (0.01, 0.1, 10**-0.125, 10**0.125, 10, 100):
        assert left_out(chosen * factor) < best + 1e-3  # lambdas have three digits
    model.update(X[:5], X[5:10])
    assert model.info["lambda"] == chosen
    assert ease.EASE("auto").fit(X, metric="hit@1").info["lambda"] > 0
    assert model.plan(X)["solves"] > 5 and ease.EASE(chosen).plan(X)["solves"] == 1


def test_a_lambda_that_cannot_be_chosen_is_required(X):
    for model, why in ((ease.MRF("auto"), "mrf"), (ease.DAN("auto"), "dan"),
                       (ease.EASE("auto", nonnegative=True), "ease-nonneg")):
        with pytest.raises(ValueError, match=f"lambda is required.*{why}"):
            model.fit(X)
    with pytest.raises(ValueError, match="lambda is required.*Gram matrix"):
        ease.EASE("auto").fit_gram(ease.gram(X))


def test_a_lambda_that_is_neither_a_number_nor_auto_is_refused(X):
    for wrong in ("much", float("nan"), None, "AUTO"):
        with pytest.raises(ValueError, match="lambda_ is a number above 0, or 'auto'"):
            ease.EASE(wrong).fit(X)


def test_lambda_is_tuned_by_leaving_users_out(X):
    estimator = ease.EDLAE("auto", dropout=0.2)
    found = ease.tune(X, estimator, leave_one_out=True, metric="ndcg@10")
    assert found.best_params == {"lambda_": estimator.fit(X, metric="ndcg@10").info["lambda"]}
    assert found.best_estimator.dropout == 0.2 and len(found.trials) > 5
    found = ease.tune(X, grid={"lambda_": [3, 30]}, leave_one_out=True, users=50, metric="hit@5")
    for trial in found.trials:
        model = ease.EASE(trial.params["lambda_"], updatable=True).fit(X)
        report = model.leave_one_out(X, metrics="hit@5", users=50)
        assert trial.mean == pytest.approx(report["hit@5"], abs=0.02)  # one of 50 users
        assert report.info["users"] == 50
    for data, how, why in (
            (ease.split(X, "random"), {}, "no split"), (X, {"users": 0}, "users"),
            (X, {"estimator": ease.WMF()}, "lambda of EASE"),
            (X, {"estimator": ease.EDLAE(1.0), "grid": {"dropout": [0.1]}}, "lambda of EASE"),
            (ease.split(X, "random"), {"leave_one_out": False, "users": 9}, "sample")):
        with pytest.raises(ValueError, match=why):
            ease.tune(data, **{"leave_one_out": True, **how})
