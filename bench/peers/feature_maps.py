# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""ReLU feature maps for offload_ratios.py: synthetic ones of given densities, and those of a small convolutional
network that is trained here. All are float32 and NCHW. Needs numpy; the network's images need scikit-learn and Pillow.

Synthetic maps have exactly round(density * count) non-zeros, |normal|, whose places are drawn

    uniform     from all places alike
    clustered   where smoothed noise is largest: white noise per map, convolved (circularly) with a Gaussian whose
                standard deviation is max(1, height / 28) pixels, cut off at one level for the whole layer

The network is conv(16) relu, conv(32) relu pool, conv(64) relu pool, conv(64) relu, linear(classes), with 3 x 3 kernels
and pools of 2 x 2; Adam, cross entropy, no regularisation. It is trained on images that scikit-learn has:

    digits        8 x 8 handwritten digits, enlarged to 32 x 32 (bilinear); which digit. Their background is constant.
    photographs   32 x 32 pieces of two colour photographs; which photograph. Tests take the right quarter of each,
                  training the rest.
"""
import numpy as np

# Densities: shares of non-zeros in public work on zero-value compression, rounded; bench/offload/step.cu has the same.
# Which layers they belong to is an assumption: each convolution's ReLU, and each pool of one. The lists are as long,
# and most pools are denser than what they pool.
ALEXNET = [("conv1", (96, 55, 55), .5), ("pool1", (96, 27, 27), .8), ("conv2", (256, 27, 27), .4),
           ("pool2", (256, 13, 13), .6), ("conv3", (384, 13, 13), .7), ("conv4", (384, 13, 13), .7),
           ("conv5", (256, 13, 13), .3), ("pool5", (256, 6, 6), .6)]
VGG_16 = [("conv1_1", (64, 224, 224), .5), ("conv1_2", (64, 224, 224), .2), ("pool1", (64, 112, 112), .3),
          ("conv2_1", (128, 112, 112), .2), ("conv2_2", (128, 112, 112), .1), ("pool2", (128, 56, 56), .2),
          ("conv3_1", (256, 56, 56), .2), ("conv3_2", (256, 56, 56), .2), ("conv3_3", (256, 56, 56), .1),
          ("pool3", (256, 28, 28), .2), ("conv4_1", (512, 28, 28), .2), ("conv4_2", (512, 28, 28), .1),
          ("conv4_3", (512, 28, 28), .1), ("pool4", (512, 14, 14), .1), ("conv5_1", (512, 14, 14), .2),
          ("conv5_2", (512, 14, 14), .2), ("conv5_3", (512, 14, 14), .1), ("pool5", (512, 7, 7), .15)]


# ----------------------------------------------------------------------------------------------------------------------
# Synthetic maps
# ----------------------------------------------------------------------------------------------------------------------

def largest(scores, density):
    """A mask of exactly round(density * count) of the scores, the largest ones."""
    mask = np.zeros(scores.size, bool)
    kept = round(density * scores.size)
    if kept:
        mask[np.argpartition(scores.ravel(), scores.size - kept)[scores.size - kept:]] = True
    return mask.reshape(scores.shape)


def uniform_mask(shape, density, rng):
    return largest(rng.random(shape, np.float32), density)


def clustered_mask(shape, density, rng):
    """shape: (..., height, width)."""
    height, width = shape[-2:]
    sigma = max(1.0, height / 28)
    y, x = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]
    gaussian = np.exp(-2 * (np.pi * sigma) ** 2 * (y * y + x * x)).astype(np.float32)
    noise = rng.standard_normal(shape, np.float32)
    return largest(np.fft.irfft2(np.fft.rfft2(noise) * gaussian, s=(height, width)), density)


def synthetic(layers, images, make_mask, rng):
    """(name, maps) by layer."""
    for name, shape, density in layers:
        mask = make_mask((images, *shape), density, rng)
        values = np.abs(rng.standard_normal(mask.shape, np.float32))
        yield name, np.where(mask, np.maximum(values, np.finfo(np.float32).tiny), np.float32(0))


# ----------------------------------------------------------------------------------------------------------------------
# The network
# ----------------------------------------------------------------------------------------------------------------------

def patches(x):
    """(images, channels, h, w) -> (images, channels * 9, h * w): the values under a 3 x 3 kernel with zeros around."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    taken = np.empty((n, c, 9, h, w), x.dtype)
    for k in range(9):
        taken[:, :, k] = padded[:, :, k // 3:k // 3 + h, k % 3:k % 3 + w]
    return taken.reshape(n, c * 9, h * w)


def patches_gradient(gradient, shape):
    n, c, h, w = shape
    gradient = gradient.reshape(n, c, 9, h, w)
    padded = np.zeros((n, c, h + 2, w + 2), gradient.dtype)
    for k in range(9):
        padded[:, :, k // 3:k // 3 + h, k % 3:k % 3 + w] += gradient[:, :, k]
    return padded[:, :, 1:-1, 1:-1]


def cells(x):
    """(images, channels, h, w) -> (images, channels, h / 2, w / 2, 4)."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4).reshape(n, c, h // 2, w // 2, 4)


class Network:
    CHANNELS, POOLED = (16, 32, 64, 64), (False, True, True, False)

    def __init__(self, shape, classes, rng):
        """shape: (channels, height, width) of an image. Weights as He et al. draw them, biases 0."""
        channels, height, width = shape
        sizes = []
        for out, pooled in zip(self.CHANNELS, self.POOLED):
            sizes.append((out, channels * 9))
            channels, height, width = out, height >> pooled, width >> pooled
        sizes.append((classes, channels * height * width))
        self.parameters = [p for rows, cols in sizes
                           for p in (rng.standard_normal((rows, cols), np.float32) * np.float32((2 / cols) ** .5),
                                     np.zeros((rows, 1), np.float32))]
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for p in self.parameters]
        self.steps = 0

    def forward(self, x):
        """The scores (classes, images), and what the gradient needs: per layer its input's shape, patches and ReLU."""
        kept = []
        for i, pooled in enumerate(self.POOLED):
            weights, bias = self.parameters[2 * i:2 * i + 2]
            columns = patches(x)
            relu = np.maximum(weights @ columns + bias, 0).reshape(len(x), -1, *x.shape[2:])
            kept.append((x.shape, columns, relu))
            x = cells(relu).max(-1) if pooled else relu
        weights, bias = self.parameters[-2:]
        kept.append((x.shape, x.reshape(len(x), -1).T, None))
        return weights @ kept[-1][1] + bias, kept

    def feature_maps(self, x):
        """(name, maps) of all ReLUs and pools."""
        for i, ((_, _, relu), pooled) in enumerate(zip(self.forward(x)[1], self.POOLED), 1):
            yield f"relu{i}", relu
            if pooled:
                yield f"pool{i}", cells(relu).max(-1)

    def gradients(self, x, labels):
        """The mean loss, and its gradients in the order of the parameters."""
        scores, kept = self.forward(x)
        chosen = (labels, np.arange(len(x)))
        shares = np.exp(scores - scores.max(0))
        shares /= shares.sum(0)
        loss = -np.log(np.maximum(shares[chosen], 1e-30)).mean()
        shares[chosen] -= 1
        g = shares / len(x)
        found = [g.sum(1, keepdims=True), g @ kept[-1][1].T]
        g = (self.parameters[-2].T @ g).T.reshape(kept[-1][0])
        for i in reversed(range(len(self.POOLED))):
            shape, columns, relu = kept[i]
            if self.POOLED[i]:
                is_largest = cells(relu) == cells(relu).max(-1, keepdims=True)
                g = g[..., None] * is_largest / is_largest.sum(-1, keepdims=True, dtype=g.dtype)
                g = g.reshape(*g.shape[:4], 2, 2).swapaxes(3, 4).reshape(relu.shape)
            g = (g * (relu > 0)).reshape(len(x), relu.shape[1], -1)
            found += [g.sum((0, 2))[:, None], (g @ columns.swapaxes(1, 2)).sum(0)]
            if i:
                g = patches_gradient(self.parameters[2 * i].T @ g, shape)
        return float(loss), found[::-1]

    def step(self, x, labels, rate, decay=(.9, .999)):
        """One step of Adam. The loss before it."""
        loss, gradients = self.gradients(x, labels)
        self.steps += 1
        for p, g, (first, second) in zip(self.parameters, gradients, self.moments):
            first += (1 - decay[0]) * (g - first)
            second += (1 - decay[1]) * (g * g - second)
            p -= rate * (first / (1 - decay[0] ** self.steps)) / (np.sqrt(second / (1 - decay[1] ** self.steps)) + 1e-8)
        return loss

    def accuracy(self, x, labels, batch=64):
        right = 0
        for i in range(0, len(x), batch):
            right += int((self.forward(x[i:i + batch])[0].argmax(0) == labels[i:i + batch]).sum())
        return right / len(x)


# ----------------------------------------------------------------------------------------------------------------------
# Its images: ((images, labels) to train on, the same to test with), float32, (images, channels, 32, 32)
# ----------------------------------------------------------------------------------------------------------------------

def digits(rng, tested):
    from sklearn.datasets import load_digits
    found = load_digits()
    order = rng.permutation(len(found.target))
    enlarge = np.stack([np.interp((np.arange(32) + .5) / 4 - .5, np.arange(8), row) for row in np.eye(8)], 1)
    images = (enlarge @ (found.images[order] / 16) @ enlarge.T).astype(np.float32)[:, None]
    labels = found.target[order]
    return (images[tested:], labels[tested:]), (images[:tested], labels[:tested])


def photographs(rng, tested, trained=3200):
    from sklearn.datasets import load_sample_images
    photos = np.stack(load_sample_images().images)  # (2, height, width, 3)
    (height, width), size = photos.shape[1:3], 32
    cut = width * 3 // 4

    def pieces(count, left, right):
        labels = rng.integers(len(photos), size=count)
        y, x = rng.integers(height - size + 1, size=count), rng.integers(left, right - size + 1, size=count)
        taken = np.stack([photos[p, i:i + size, j:j + size] for p, i, j in zip(labels, y, x)])
        return np.ascontiguousarray(taken.transpose(0, 3, 1, 2), np.float32) / 255 - np.float32(.5), labels

    return pieces(trained, 0, cut), pieces(tested, cut, width)
