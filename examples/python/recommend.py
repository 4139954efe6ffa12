#!/usr/bin/env python3
"""From a DataFrame with titles to recommendations with reasons and a figure.

    pip install . pandas
    examples/python/recommend.py [RATINGS MOVIES] [--out DIR]

Without arguments it takes npm.tsv.gz beside it: which package depends on which. With
MovieLens' ratings.csv and movies.csv (or movies.dat) it recommends films by title."""
import argparse
import os

import pandas as pd

import ease

HERE = os.path.dirname(os.path.abspath(__file__))


def load_packages():
    frame = pd.read_csv(os.path.join(HERE, os.pardir, "npm.tsv.gz"), sep="\t", header=None,
                        names=["user", "item"], dtype=str, keep_default_na=False)
    titles = {name: f"{name} (npm)" for name in frame["item"].unique()}
    return frame, titles, {}


def load_films(ratings, movies):
    frame = pd.read_csv(ratings)
    frame.columns = ["user", "item", "rating", "timestamp"][:len(frame.columns)]
    if movies.endswith(".dat"):
        table = pd.read_csv(movies, sep="::", header=None, engine="python",
                            encoding="latin-1")
    else:
        table = pd.read_csv(movies)
    return frame, dict(zip(table.iloc[:, 0], table.iloc[:, 1])), {"min_rating": 4}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="ratings.csv movies.csv")
    parser.add_argument("--out", default=".", help="where the figure and the model go")
    options = parser.parse_args()
    frame, titles, how = load_films(*options.files) if options.files else load_packages()

    # How strong the regularization should be: validation users tell.
    parts = ease.split(frame, "liang18", heldout_users=frame["user"].nunique() // 10, **how)
    found = ease.tune(parts, grid={"lambda_": [50, 200, 500]}, metric="ndcg@10")
    for trial in found.trials:
        print(f"lambda {trial.params['lambda_']:5g}: ndcg@10 {trial.mean:.4f} "
              f"± {trial.standard_error:.4f}")
    held_out = ease.evaluate(found.best_estimator.fit(parts.train), parts, metrics="ndcg@10")
    print(f"test users: ndcg@10 {held_out['ndcg@10']:.4f}")

    # The model of all data, for someone of the table and for someone new.
    model = found.best_estimator.fit(frame, **how)
    print(f"{model.set_titles(titles)} of {len(model.item_ids)} items have a title")
    user = frame["user"].iloc[0]
    newcomer = model.item_ids[[0, 1]].tolist()
    for who, history in ((user, None), ("a newcomer", newcomer)):
        ids, scores = model.recommend(who, history, N=3)
        print(f"\nfor {who}:")
        for item, score in zip(ids, scores):
            why = model.explain(who, history, item, N=2)
            reasons = ", ".join(f"{titles.get(i, i)} {part:+.3f}"
                                for i, part in why.contributions)
            print(f"  {score:.3f}  {titles.get(item, item)}\n         because of {reasons}")
    model.plot(os.path.join(options.out, "weights.svg"))
    model.save(os.path.join(options.out, "model.ease"))


if __name__ == "__main__":
    main()
