# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contrast of colours, and how far apart they are for people who see fewer of them.

Contrast: WCAG 2.2. Colour blindness: the matrices of Machado, Oliveira and Fernandes, "A Physiologically-based Model for
Simulation of Color Vision Deficiency" (2009), severity 1.0, on linear light. Distance: CIE76 in CIELAB (D65).
"""
BLINDNESS = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]


def contrast(a, b):
    low, high = sorted(sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear(c))) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(light):
    rows = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
    xyz = [sum(m * x for m, x in zip(row, light)) / white for row, white in zip(rows, (0.95047, 1, 1.08883))]
    f = [x ** (1 / 3) if x > (6 / 29) ** 3 else x / (3 * (6 / 29) ** 2) + 4 / 29 for x in xyz]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def distance(a, b, blindness="none"):
    seen = []
    for colour in (a, b):
        light = linear(colour)
        seen.append(lab([min(1, max(0, sum(m * x for m, x in zip(row, light)))) for row in BLINDNESS[blindness]]))
    return sum((x - y) ** 2 for x, y in zip(*seen)) ** 0.5
