"""The closed-form relatives of EASE in NumPy, float64, each by its own publication: the oracle
of tests/test_family.py. x is users x items; every function returns W."""
import numpy as np


def entries(x):
    """G, and the number of users of each item."""
    return np.asarray((x.T @ x).todense()), np.asarray((x != 0).sum(axis=0)).ravel()


def zero_diagonal(c):
    """I - C diagMat(1 / diag C)."""
    b = np.eye(len(c)) - c @ np.diag(1 / np.diag(c))
    np.fill_diagonal(b, 0)
    return b


def inverse(a):
    return np.linalg.inv(a)


def ease(x, lam):
    g, _ = entries(x)
    return zero_diagonal(inverse(g + lam * np.eye(len(g))))


def edlae(x, lam, dropout):
    """Steck, NeurIPS 2020: Lambda = lambda I + p / (1 - p) diagMat(diag X'X)."""
    g, _ = entries(x)
    ridge = lam * np.eye(len(g)) + dropout / (1 - dropout) * np.diag(np.diag(g))
    return zero_diagonal(inverse(g + ridge))


def relaxed(g, ridge, xi):
    """Moon et al., SIGIR 2023: the inequality constraint diag(B) <= xi, from its KKT
    multipliers. The constraint holds as it is where 1 - Lambda_j C_jj <= xi."""
    c = inverse(g + np.diag(ridge))
    free = 1 - ridge * np.diag(c)
    pull = np.where(free <= xi, 0, (1 - xi) / np.diag(c) - ridge)
    b = np.eye(len(g)) - c @ np.diag(ridge + pull)
    np.fill_diagonal(b, 0)
    return b


def rlae(x, lam, xi):
    g, _ = entries(x)
    return relaxed(g, np.full(len(g), float(lam)), xi)


def rdlae(x, lam, dropout, xi):
    g, _ = entries(x)
    return relaxed(g, lam + dropout / (1 - dropout) * np.diag(g), xi)


def dan(x, lam, dropout, beta, alpha, xi=0):
    """Park et al., SIGIR 2025: D_I^alpha B D_I^-alpha, B from X' D_U^-beta X and the Lambda
    of EDLAE with counts that users' weights leave alone."""
    _, users_of = entries(x)
    items_of = np.asarray((x != 0).sum(axis=1)).ravel().astype(float)
    dense = x.toarray()
    g = dense.T @ np.diag(items_of**-beta) @ dense
    b = relaxed(g, lam + dropout / (1 - dropout) * users_of, xi)
    scale = users_of.astype(float)**alpha
    return np.diag(scale) @ b @ np.diag(1 / scale)


def rescaled(x, lam, power):
    """Steck, arXiv 2019: B diagMat(w), w_j = n_j^-power."""
    _, n = entries(x)
    return ease(x, lam) @ np.diag(n.astype(float)**-power)


def propensities_by_power(n, power):
    return (n / n.max())**power


def propensities_by_sigmoid(n, power):
    """Of log(n + 1), around the middle of its range."""
    logs = np.log(n + 1.0)
    return 1 / (1 + np.exp(-power * (logs - (logs.min() + logs.max()) / 2)))


def ips(x, lam, power, propensities):
    """Onishi et al., SIGIR-AP 2025: B diagMat(1 / p)."""
    _, n = entries(x)
    if power == 0:
        return ease(x, lam)
    return ease(x, lam) @ np.diag(1 / propensities(n, power))


def mrf(x, lam, power):
    """Steck, NeurIPS 2019, dense: S (I - P diagMat(1 / diag P)) S^-1 with the rescaled
    covariance, P = (S C S + lambda I)^-1, S = diagMat(diag C)^(-power / 2)."""
    g, _ = entries(x)
    mu = np.asarray(x.mean(axis=0)).ravel()
    c = g - x.shape[0] * np.outer(mu, mu)
    live = np.diag(c) > 1e-12 * np.diag(g)
    s = np.ones(len(g))
    s[live] = np.diag(c)[live]**(-power / 2)
    c[~live, :] = 0
    c[:, ~live] = 0
    b = np.diag(s) @ zero_diagonal(inverse(np.diag(s) @ c @ np.diag(s) + lam * np.eye(len(g))))
    b = b @ np.diag(1 / s)
    b[~live, :] = 0
    b[:, ~live] = 0
    return b


def family(x, lam, kind="counts", lambda_power=0, dropout=0, user_power=0, relaxation=0,
           input_power=0, output_power=0):
    """All settings together: W, and c, so that a history's scores are x W + c."""
    dense = x.toarray()
    n = (dense != 0).sum(axis=0).astype(float)
    items_of = (dense != 0).sum(axis=1).astype(float)
    w = np.where(items_of > 0, np.maximum(items_of, 1)**-user_power, 0)
    g = dense.T @ (w[:, None] * dense)
    diagonal = np.diag(g).copy()
    lam = lam * diagonal.sum() / (dense**2).sum()
    mu, c = w @ dense / w.sum(), g
    scale, live = np.ones(len(g)), np.ones(len(g), bool)
    if kind != "counts":
        c = g - w.sum() * np.outer(mu, mu)
        live = np.diag(c) > 1e-6 * diagonal
        c[~live, :] = 0
        c[:, ~live] = 0
    if kind == "correlation":
        scale = np.where(live, np.sqrt(np.where(live, np.diag(c), 1)), 1)
        c = c / np.outer(scale, scale)
    size = np.where(np.diag(c) > 0, np.diag(c), 1)
    ridge = lam * size**lambda_power + dropout / (1 - dropout) * diagonal
    b = relaxed(c, ridge, relaxation) * scale[None, :] / scale[:, None]
    b[~live, :] = 0
    b[:, ~live] = 0
    b = b * (n**input_power)[:, None] * (n**output_power)[None, :]
    return b, (np.zeros(len(g)) if kind == "counts" else mu - mu @ b)


# ---- from the losses, column by column: no inverse of the whole matrix --------------------


def least_squares(g, ridge, xi):
    """The minimum of |X - X B|^2 + |diagMat(ridge)^(1/2) B|^2 with diag(B) <= xi. Column j is
    free of the constraint, or has B_jj = xi and a smaller problem for the others."""
    n = len(g)
    b = np.empty((n, n))
    for j in range(n):
        column = np.linalg.solve(g + np.diag(ridge), g[:, j])
        if column[j] > xi:
            others = np.arange(n) != j
            a = g[np.ix_(others, others)] + np.diag(ridge[others])
            column[others] = np.linalg.solve(a, g[others, j] * (1 - xi))
        b[:, j] = column
    np.fill_diagonal(b, 0)
    return b
