#!/usr/bin/env python3
"""Networks side by side with the same ones in JAX (pip install jax optax scipy).

    bench/networks.py step                        # one training step, and three
    bench/networks.py time SPLIT [ROUNDS]         # seconds of a mult-vae epoch
    bench/networks.py train SPLIT METHOD [NAME=VALUE ...]   # JAX's figures, as JSON

SPLIT is a directory of `ease split`. JAX multiplies dense batches, as the published
code does; its gradients are its own, and Adam is optax's. Both use two threads. What
came out once is kept in docs/results/networks-jax.json.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.sparse as sparse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(os.environ.get("EASE_BUILD", os.path.join(ROOT, "build")),
                       "tests", "run_network")
METHODS = ("cdae", "mult-dae", "mult-vae")


# ---- the networks ------------------------------------------------------------------

def encode(p, x):
    """mu (or h) and the logarithm of the variance, which is None if nothing is drawn."""
    h = jnp.tanh(x @ p["E"] + p["b1"])
    if "S" not in p:
        return h, None
    return h @ p["A2"] + p["b2"], h @ p["S"] + p["bs"]


def decode(p, z):
    if "A3" in p:
        z = jnp.tanh(z @ p["A3"] + p["b3"])
    return z @ p["V"].T + p["c"]


def loss(p, method, x, target, noise, divergence, decay, weight):
    """Without the decay, and with it: what is optimized."""
    z, spread = encode(p, x)
    kl = 0.0
    if spread is not None:
        kl = jnp.mean(jnp.sum(0.5 * (-spread + jnp.exp(spread) + z ** 2 - 1), axis=1))
        z = z + noise * jnp.exp(0.5 * spread)
    y = decode(p, z)
    if method == "cdae":
        error = jnp.sum(jnp.where(target != 0, weight, 1.0) * (target - y) ** 2, axis=1)
    else:
        error = -jnp.sum(jax.nn.log_softmax(y) * target, axis=1)
    plain = jnp.mean(error) + divergence * kl
    squares = sum(jnp.sum(p[k] ** 2) for k in ("E", "A2", "S", "A3", "V") if k in p)
    return plain + decay * squares, plain


# ---- three steps ---------------------------------------------------------------------

def read_parts(directory, name, about):
    flat = np.fromfile(os.path.join(directory, name), np.float32)

    def part(at, *shape):
        return flat[at:at + int(np.prod(shape))].reshape(shape)

    n, layers = about["items"], about["layers"]
    first, rank = layers[0][3], layers[-1][3]
    p = {"E": part(about["embedding"], n, first), "b1": part(layers[0][1], first),
         "V": part(about["decoder"], n, rank), "c": part(about["base"], n)}
    for number, (a, b, rows, columns) in enumerate(layers[1:], 2):
        p[f"A{number}"], p[f"b{number}"] = part(a, rows, columns), part(b, columns)
    if len(layers) > 1:
        p["S"] = part(about["spread"][0], *layers[1][2:])
        p["bs"] = part(about["spread"][1], layers[1][3])
    return p


def run_steps(p, method, about, x, target, noise, kind):
    """The same in JAX, in float32 or float64."""
    p = {k: v.astype(kind) for k, v in p.items()}
    x, target, noise = x.astype(kind), target.astype(kind), noise.astype(kind)
    adam = optax.adam(about["rate"])
    state, losses = adam.init(p), []
    for step in range(about["steps"]):
        divergence = min(about["cap"], step / about["anneal"])
        (_, plain), g = jax.value_and_grad(loss, has_aux=True)(
            p, method, x, target, noise, divergence, about["decay"], about["weight"])
        moves, state = adam.update(g, state)
        p = optax.apply_updates(p, moves)
        losses.append(float(plain))
    return p, state[0].mu, losses


def compare_steps(method, count):
    """The largest differences, relative to the largest of all for gradients (Adam's first
    moments). Adam divides by a gradient's own size, so that rounding shows in the few
    weights whose gradient is near 1e-8: JAX in float32 is not nearer to JAX in float64
    than ease is."""
    with tempfile.TemporaryDirectory() as directory:
        about = json.loads(subprocess.run([PROGRAM, "step", directory, method, str(count)],
                                          check=True, text=True,
                                          stdout=subprocess.PIPE).stdout)
        shape = about["users"], about["items"]
        load = lambda name, kind: np.fromfile(os.path.join(directory, name), kind)
        x = load("input", np.float32).reshape(shape)
        target = load("target", np.float64).reshape(shape)
        noise = load("noise", np.float32).reshape(shape[0], -1)
        before = read_parts(directory, "before", about)
        ours = read_parts(directory, "after", about)
        moments = read_parts(directory, "moments", about)
    single, theirs, losses = run_steps(before, method, about, x, target, noise, np.float32)
    with jax.enable_x64(True):
        double, _, _ = run_steps(before, method, about, x, target, noise, np.float64)
    apart = lambda a, b: np.concatenate([np.abs(np.ravel(a[k]) - np.float64(b[k]).ravel())
                                         for k in a])
    size = max(np.max(np.abs(m)) for m in moments.values())
    return {"method": method, "steps": count,
            "loss": max(abs(a / b - 1) for a, b in zip(about["loss"], losses)),
            "gradient": float(apart(moments, theirs).max() / size),
            "weights": float(apart(ours, single).max()),
            "weights over 1e-5": float((apart(ours, single) > 1e-5).mean()),
            "weights to float64": float(apart(ours, double).max()),
            "jax's to float64": float(apart(single, double).max())}


# ---- training --------------------------------------------------------------------------

def read_split(directory):
    def part(name):
        return np.loadtxt(os.path.join(directory, name), dtype=np.int64, delimiter=",",
                          skiprows=1)

    with open(os.path.join(directory, "unique_sid.txt")) as f:
        items = len(f.read().split())

    def matrix(rows, first):
        return sparse.csr_matrix((np.ones(len(rows), np.float32),
                                  (rows[:, 0] - first, rows[:, 1])),
                                 shape=(rows[:, 0].max() - first + 1, items))

    train = part("train.csv")
    out = {"train": matrix(train, train[:, 0].min())}
    for name in ("validation", "test"):
        x, y = part(f"{name}_tr.csv"), part(f"{name}_te.csv")
        first = min(x[:, 0].min(), y[:, 0].min())
        out[name] = matrix(x, first), matrix(y, first)
    return out


def glorot(key, rows, columns, fan_out=None):
    limit = (6 / (rows + (fan_out or columns))) ** 0.5
    return jax.random.uniform(key, (rows, columns), minval=-limit, maxval=limit)


def first_weights(key, method, n, hidden, latent):
    keys = iter(jax.random.split(key, 12))
    bias = lambda count: 0.001 * jax.random.truncated_normal(next(keys), -2, 2, (count,))
    p = {"E": glorot(next(keys), n, hidden), "b1": bias(hidden),
         "V": glorot(next(keys), n, hidden), "c": bias(n)}
    if method == "mult-vae":
        p.update(A2=glorot(next(keys), hidden, latent, 2 * latent), b2=bias(latent),
                 S=glorot(next(keys), hidden, latent, 2 * latent), bs=bias(latent),
                 A3=glorot(next(keys), latent, hidden), b3=bias(hidden))
    return p


def normalized(x):
    return x / jnp.maximum(jnp.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def make_step(method, adam, o):
    @jax.jit
    def step(p, state, key, target, divergence):
        one, two = jax.random.split(key)
        kept = jax.random.bernoulli(one, 1 - o["dropout"], target.shape)
        x = normalized(target) * kept / (1 - o["dropout"])
        noise = jax.random.normal(two, (target.shape[0], o["latent"]))
        (_, plain), g = jax.value_and_grad(loss, has_aux=True)(
            p, method, x, target, noise, divergence, o["decay"], 1.0)
        moves, state = adam.update(g, state)
        return optax.apply_updates(p, moves), state, plain
    return step


@jax.jit
def scores(p, x):
    return decode(p, encode(p, normalized(x))[0])


def ndcg(p, x, y, k=100):
    """Of each user, as published."""
    s = np.array(scores(p, jnp.asarray(x.toarray())))
    s[x.nonzero()] = -np.inf
    order = np.argsort(-s, axis=1, kind="stable")[:, :k]
    gain = 1 / np.log2(np.arange(2, k + 2))
    hits = np.take_along_axis(y.toarray(), order, axis=1)
    held = np.asarray((y > 0).sum(axis=1)).ravel().astype(int)
    best = np.array([gain[:min(h, k)].sum() for h in held])
    return ((hits * gain).sum(axis=1)[held > 0] / best[held > 0])


class Training:
    def __init__(self, data, method, o):
        self.o, self.data = o, data
        self.key = jax.random.PRNGKey(o["seed"])
        self.random = np.random.RandomState(o["seed"])
        adam = optax.adam(o["rate"])
        self.p = first_weights(self.key, method, data.shape[1], o["hidden"], o["latent"])
        self.state = adam.init(self.p)
        self.step, self.done = make_step(method, adam, o), 0

    def epoch(self):
        order = self.random.permutation(self.data.shape[0])
        for at in range(0, len(order), self.o["batch"]):
            target = jnp.asarray(self.data[order[at:at + self.o["batch"]]].toarray())
            self.key, now = jax.random.split(self.key)
            weight = min(self.o["cap"], self.done / self.o["anneal"])
            self.p, self.state, value = self.step(self.p, self.state, now, target, weight)
            self.done += 1
        return float(value)  # waits for it


def options(method, given):
    vae = method == "mult-vae"
    o = {"hidden": 600 if vae else 200, "latent": 200 if vae else 1, "epochs": 200,
         "batch": 500, "rate": 1e-3, "dropout": 0.5, "decay": 0 if vae else 0.01 / 500,
         "anneal": 200000, "cap": 0.2, "seed": 98765, "minutes": 1e9}
    for text in given:
        name, value = text.split("=")
        o[name] = type(o[name])(float(value)) if name in o else sys.exit(f"no {name}")
    return o


def train(directory, method, given):
    split, o = read_split(directory), options(method, given)
    t, best = Training(split["train"], method, o), (-1, 0, None)
    begin = time.monotonic()
    for epoch in range(1, o["epochs"] + 1):
        t.epoch()
        now = ndcg(t.p, *split["validation"]).mean()
        if now > best[0]:
            best = now, epoch, t.p
        if time.monotonic() - begin > 60 * o["minutes"]:
            break
    out = {"method": method, "settings": o, "epochs": epoch, "best_epoch": best[1],
           "jax": jax.__version__}
    for name in ("validation", "test"):
        values = ndcg(best[2], *split[name])
        out[name] = [round(float(values.mean()), 5),
                     round(float(values.std() / len(values) ** 0.5), 5)]
    print(json.dumps(out, indent=1))


def epoch_seconds(directory, settings):
    lines = subprocess.run([PROGRAM, "train", directory, "mult-vae", settings, "2", "plain"],
                           check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    return [json.loads(line)["seconds"] for line in lines if "seconds" in line]


def compare_times(directory, rounds):
    t = Training(read_split(directory)["train"], "mult-vae", options("mult-vae", []))
    t.epoch()  # compiles
    ours, theirs = [], []
    for _ in range(rounds):
        ours += epoch_seconds(directory, "epochs=3")[1:]
        for _ in range(2):
            begin = time.monotonic()
            t.epoch()
            theirs.append(time.monotonic() - begin)
    print(json.dumps({"ease": sorted(ours), "jax": sorted(theirs),
                      "ratio": float(np.median(theirs) / np.median(ours))}))


def main():
    if sys.argv[1:] == ["step"]:
        for method in METHODS:
            for count in (1, 3):
                print(json.dumps(compare_steps(method, count)))
    elif len(sys.argv) > 2 and sys.argv[1] == "time":
        compare_times(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    elif len(sys.argv) > 3 and sys.argv[1] == "train":
        train(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
