"""How much of a matrix a few columns keep: factors of rising rank, their error, and the bound that comes with them.

    python3 low_rank.py [PICTURE = low_rank.svg]

Each cell begins with # %%, as notebooks and editors know them. The picture is drawn by matplotlib if it is installed,
and by the last cell otherwise.
"""

# %% The matrix: the pull between 600 points on one line and 500 on another. Far points pull alike, so its rank is low.
import sys

import numpy as np
import stratagemm as sg

here, there = np.linspace(0, 1, 600), np.linspace(1.2, 3, 500)
pull = 1 / (here[:, None] - there) ** 2
vectors = np.random.default_rng(1).standard_normal((500, 8))
expected = sg.gemm(pull, vectors)

# %% Factors of each rank: U is 600 x rank, V is rank x 500. Products with them never write U V out.
ranks, errors, bounds = list(range(1, 13)), [], []
for rank in ranks:
    factors = sg.low_rank(pull, rank=rank)
    errors.append(np.linalg.norm(factors[0] @ factors[1] - pull) / np.linalg.norm(pull))
    bounds.append(factors.bound)
    product = sg.gemm(factors.operand(), vectors)
    wrong = np.linalg.norm(product - expected) / np.linalg.norm(expected)
    print(f"rank {rank:2}: error {errors[-1]:.1e}, certified below {bounds[-1]:.1e}, of a product {wrong:.1e}, "
          f"{(600 + 500) * rank / (600 * 500):.1%} of the numbers")
    assert errors[-1] <= bounds[-1]

# %% The same to a tolerance, which says how many columns that takes.
found = sg.low_rank(pull, tolerance=1e-6)
print(f"a tolerance of 1e-6 takes rank {found.rank}")
assert found.bound <= 1e-6

# %% The picture.
path = sys.argv[1] if len(sys.argv) > 1 else "low_rank.svg"
title = "Error of factors of rank r, and its certified bound"


def draw_with_matplotlib():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4))
    axes.semilogy(ranks, errors, "o-", label="error")
    axes.semilogy(ranks, bounds, "--", label="certified bound")
    axes.set(xlabel="r", ylabel="|A - U V| / |A|", title=title)
    axes.legend()
    figure.savefig(path)


def draw_by_hand():
    low, high = np.floor(np.log10(min(errors))), 0
    x = [60 + 520 * (r - 1) / (len(ranks) - 1) for r in ranks]

    def line(values, style):
        y = [40 + 300 * (high - np.log10(v)) / (high - low) for v in values]
        return f'<polyline fill="none" {style} points="' + " ".join(f"{p:.1f},{q:.1f}" for p, q in zip(x, y)) + '"/>'

    marks = ""
    for i in range(int(high - low) + 1):
        y = 40 + 300 * i / (high - low)
        marks += (f'<text x="52" y="{y + 4:.0f}" text-anchor="end">1e{int(high - i)}</text>'
                  f'<line x1="60" x2="580" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
    marks += "".join(f'<text x="{p:.0f}" y="358" text-anchor="middle">{r}</text>' for p, r in zip(x, ranks))
    with open(path, "w", encoding="utf-8") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400" font-family="sans-serif" '
                   f'font-size="12"><rect width="640" height="400" fill="white"/><text x="60" y="24">{title}</text>'
                   + marks + line(errors, 'stroke="#06c" stroke-width="2"')
                   + line(bounds, 'stroke="#c60" stroke-dasharray="5"') +
                   '<text x="320" y="384" text-anchor="middle">r (blue: error, orange: bound)</text></svg>\n')


try:
    draw_with_matplotlib()
except ImportError:
    draw_by_hand()
print(f"wrote {path}")
