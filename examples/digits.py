"""
Digits: k-means with missing pixels
===================================

1,797 handwritten digits, 8 x 8 pixels each, as scikit-learn ships them. A third of the pixels is deleted. k-means finds
ten kinds of digits from what is left, and fills in the rest.
"""

# %%
# Clusters of incomplete images
# -----------------------------
# Distances are computed over the observed pixels of an image and scaled up to all pixels. The labels are not used.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import halfseen as hs

pixels, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
seen = np.where(rng.random(pixels.shape) < 1 / 3, np.nan, pixels)

model = hs.KMeans(10, random_state=0).fit(seen)
complete = hs.KMeans(10, random_state=0).fit(pixels)
print(f"{model.stop_reason_} after {model.n_iter_} iterations; {np.isnan(seen).mean():.0%} of the pixels are missing")
print(f"agreement with the digits (adjusted Rand index): {adjusted_rand_score(digit, model.labels_):.2f}")
print(f"without missing pixels:                          {adjusted_rand_score(digit, complete.labels_):.2f}")

# %%
# The centres are typical digits: most clusters are one digit, and 1, 8 and 9 share some.

figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
for k, ax in enumerate(axes.flat):
    members = digit[model.labels_ == k]
    most = np.bincount(members).argmax()
    ax.imshow(model.cluster_centers_[k].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{np.mean(members == most):.0%} are {most}", fontsize=9)
    ax.axis("off")

# %%
# Missing pixels filled in
# ------------------------
# ``impute`` takes a missing pixel from the centre of the image's cluster. Above the images with missing pixels in red,
# in the middle the completed ones, below the originals.

filled = model.impute(seen)
figure, axes = plt.subplots(3, 8, figsize=(7, 2.9), layout="constrained")
shades = plt.get_cmap("gray_r").with_extremes(bad="#e8590c")
for row, images in zip(axes, (seen, filled, pixels), strict=True):
    for ax, image in zip(row, images, strict=False):
        ax.imshow(image.reshape(8, 8), cmap=shades, vmin=0, vmax=16)
        ax.axis("off")
missing = np.isnan(seen)
means = np.broadcast_to(np.nanmean(seen, axis=0), seen.shape)
print(f"mean error of the filled pixels: {np.abs(filled - pixels)[missing].mean():.2f} of 16 levels of grey")
print(f"of the mean of each pixel:       {np.abs(means - pixels)[missing].mean():.2f}")

# %%
# How many clusters?
# ------------------
# k-means always finds as many as it is asked for, and more of them always lower the inertia. Where the curve bends is a
# matter of taste; a mixture, which has a likelihood, can be compared by BIC.

numbers = range(2, 21, 3)
inertias = [hs.KMeans(k, n_init=2, random_state=0).fit(seen).inertia_ for k in numbers]
figure, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
ax.plot(numbers, inertias, marker="o")
ax.set(xlabel="number of clusters", ylabel="inertia", xticks=list(numbers))

plt.show()
