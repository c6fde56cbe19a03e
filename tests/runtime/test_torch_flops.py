# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FLOPs of small blocks as torch.utils.flop_counter counts them: the rows of tests/data/cost/torch_flops.csv.

    python3 tests/runtime/test_torch_flops.py --record     (needs PyTorch; writes the file anew)

Each block is written here as the products that its source names, on the meta device, forward and backward. A unit test
(tests/unit/cost/blocks.cpp) compares the formulas with the file. Attention is counted over all pairs.
"""
import csv
import io
import pathlib
import sys
import unittest

try:
    import torch
    from torch.utils.flop_counter import FlopCounterMode
except ImportError:
    torch = None

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "cost" / "torch_flops.csv"
B, S, H = 2, 64, 48  # sequences, positions, width


def tensor(*shape):
    return torch.zeros(shape, device="meta", requires_grad=True)


def heads(x, count):
    """B x S x (count d) as (B count) x S x d."""
    return x.view(B, S, count, -1).transpose(1, 2).reshape(B * count, S, -1)


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(1, 2), -1) @ v


def spread(kv, groups, count):
    """Key-value heads, each for its group of heads."""
    return kv.view(B, groups, S, -1).repeat_interleave(count // groups, 1).reshape(B * count, S, -1)


def attention(x, a=6, g=2, d=8, v=10):
    q = heads(x @ tensor(H, a * d), a)
    k = spread(heads(x @ tensor(H, g * d), g), g, a)
    values = spread(heads(x @ tensor(H, g * v), g), g, a)
    out = attend(q, k, values).view(B, a, S, v).transpose(1, 2).reshape(B, S, a * v)
    return (out * torch.sigmoid(x @ tensor(H, a * v))) @ tensor(a * v, H)


def latent(x, a=4, rq=20, rk=12, n=8, r=4, v=6, absorbed=False):
    q = heads(x @ tensor(H, rq) @ tensor(rq, a * (n + r)), a)
    compressed = x @ tensor(H, rk + r)
    c, rope = compressed.split([rk, r], -1)
    if absorbed:
        # Queries times the matrix of the keys, then all heads see the latent vector itself.
        q_n, q_r = q.split([n, r], -1)
        per_head = q_n.view(B, a, S, n).transpose(0, 1).reshape(a, B * S, n) @ tensor(a, n, rk)
        q = torch.cat([per_head.view(a, B, S, rk).transpose(0, 1).reshape(B * a, S, rk), q_r], -1)
        k = compressed.repeat_interleave(a, 0)
        out = attend(q, k, k[..., :rk])
        out = out.view(B, a, S, rk).transpose(0, 1).reshape(a, B * S, rk) @ tensor(a, rk, v)
        out = out.view(a, B, S, v).permute(1, 2, 0, 3).reshape(B, S, a * v)
    else:
        k, values = heads(c @ tensor(rk, a * (n + v)), a).split([n, v], -1)
        k = torch.cat([k, rope.repeat_interleave(a, 0)], -1)
        out = attend(q, k, values).view(B, a, S, v).transpose(1, 2).reshape(B, S, a * v)
    return out @ tensor(a * v, H)


def delta_rule(q, k, v, chunk):
    """The products of the chunked form, without the triangular inverse: heads x positions x width."""
    n, d, w = q.shape[0] * (S // chunk), q.shape[-1], v.shape[-1]
    q, k, v = (t.reshape(n, chunk, -1) for t in (q, k, v))
    inverse = (k @ k.transpose(1, 2)).tril()
    w_, u = inverse @ k, inverse @ v
    state = tensor(n, d, w)
    fresh = u - w_ @ state
    out = q @ state + (q @ k.transpose(1, 2)).tril() @ fresh
    return out, k.transpose(1, 2) @ fresh


def convolution(x, taps):
    width = x.shape[-1]
    return torch.nn.functional.conv1d(x.transpose(1, 2), tensor(width, 1, taps), padding=taps - 1,
                                      groups=width)[..., :S].transpose(1, 2)


def gated_delta(x, ak=2, av=4, k=6, v=10, chunk=16):
    # The convolution's own row is apart: torch counts the padded positions, too.
    q, keys, values, gate = (x @ tensor(H, 2 * ak * k + 2 * av * v)).split([ak * k, ak * k, av * v, av * v], -1)
    betas = x @ tensor(H, 2 * av)
    q, keys = (spread(heads(t, ak), ak, av) for t in (q, keys))
    out, state = delta_rule(q, keys, heads(values, av), chunk)
    out = out.reshape(B, av, S, v).transpose(1, 2).reshape(B, S, av * v)
    return (out * gate) @ tensor(av * v, H), betas, state


def kimi_delta(x, a=3, d=8, rank=5, chunk=16):
    q, k, v = (heads(x @ tensor(H, a * d), a) for _ in range(3))
    forget, gate = (x @ tensor(H, rank) @ tensor(rank, a * d) for _ in range(2))
    betas = x @ tensor(H, a)
    out, state = delta_rule(q, k, v, chunk)
    out = out.reshape(B, a, S, d).transpose(1, 2).reshape(B, S, a * d)
    return (out * gate) @ tensor(a * d, H), forget, betas, state


def lightning(x, a=3, d=8, chunk=16):
    q, k, v = (heads(x @ tensor(H, a * d), a).reshape(-1, chunk, d) for _ in range(3))
    gate = x @ tensor(H, a * d)
    out = (q @ k.transpose(1, 2)).tril() @ v + q @ tensor(q.shape[0], d, d)
    out = out.reshape(B, a, S, d).transpose(1, 2).reshape(B, S, a * d)
    return (out * gate) @ tensor(a * d, H), k.transpose(1, 2) @ v


def mamba2(x, a=4, d=6, g=2, state=10, chunk=16):
    z, xs, b, c, dt = (x @ tensor(H, 2 * a * d + 2 * g * state + a)).split(
        [a * d, a * d, g * state, g * state, a], -1)
    n = S // chunk
    b, c = (heads(t, g).reshape(B, g, n, chunk, state) for t in (b, c))
    xs = heads(xs, a).reshape(B * a * n, chunk, d)
    scores = (c.reshape(-1, chunk, state) @ b.reshape(-1, chunk, state).transpose(1, 2)).tril()
    scores = scores.view(B, g, n, chunk, chunk).repeat_interleave(a // g, 1).reshape(-1, chunk, chunk)
    wide = lambda t: t.repeat_interleave(a // g, 1).reshape(-1, chunk, state)
    out = scores @ xs + wide(c) @ tensor(B * a * n, state, d)
    out = out.reshape(B, a, S, d).transpose(1, 2).reshape(B, S, a * d)
    return (out * z) @ tensor(a * d, H), wide(b).transpose(1, 2) @ xs, dt


def feed_forward(x, f=40):
    return (x @ tensor(H, f) * (x @ tensor(H, f))) @ tensor(f, H)


def mixture(x, experts=8, k=2, f=20, shared=12, latent_width=30):
    rows = x.view(B * S, H)
    scores = rows @ tensor(H, experts)
    gate = torch.sigmoid(rows @ tensor(H, 1))
    narrow = rows @ tensor(H, latent_width)
    # Spread evenly: each expert gets k / experts of the tokens.
    each = narrow.repeat(k, 1).view(experts, B * S * k // experts, latent_width)
    out = (each @ tensor(experts, latent_width, f) * (each @ tensor(experts, latent_width, f))) @ tensor(
        experts, f, latent_width)
    out = out.view(k, B * S, latent_width).sum(0) @ tensor(latent_width, H)
    return out + gate * ((rows @ tensor(H, shared) * (rows @ tensor(H, shared))) @ tensor(shared, H)), scores


def native_sparse(x, a=6, g=2, d=8, v=10, width=8, stride=4, blocks=2, selected=8, window=24):
    q = heads(x @ tensor(H, a * d), a)
    gates = torch.sigmoid(x @ tensor(H, 3 * a))
    kv = [(heads(x @ tensor(H, g * d), g), heads(x @ tensor(H, g * v), g)) for _ in range(3)]
    # Each block of each key-value head, flat, times that head's matrix.
    pool = lambda t: (t.unfold(1, width, stride).transpose(2, 3).reshape(B, g, -1, width * t.shape[-1]).transpose(0, 1)
                      .reshape(g, -1, width * t.shape[-1]) @ tensor(g, width * t.shape[-1], t.shape[-1]))
    starts = (S - width) // stride + 1
    k_c, v_c = (pool(t).view(g, B, starts, -1).transpose(0, 1) for t in kv[0])
    wide = lambda t: t.repeat_interleave(a // g, 1).reshape(B * a, starts, -1)
    outs = [attend(q, wide(k_c), wide(v_c))]
    for (k_i, v_i), seen in ((kv[1], blocks * selected), (kv[2], window)):
        # Every position has `seen` keys and values of its own.
        k_i, v_i = (spread(t, g, a)[:, :seen].unsqueeze(1).expand(-1, S, -1, -1).reshape(B * a * S, seen, -1)
                    for t in (k_i, v_i))
        outs.append(attend(q.reshape(B * a * S, 1, d), k_i, v_i).reshape(B * a, S, v))
    outs = [o.view(B, a, S, v).transpose(1, 2) for o in outs]
    mixed = sum(o * gates[..., i * a:(i + 1) * a, None] for i, o in enumerate(outs))
    return mixed.reshape(B, S, a * v) @ tensor(a * v, H)


def attention_residuals(x, sources=5):
    out = x
    for _ in range(2):
        values = torch.stack([out] + [x] * (sources - 1), 2).view(B * S, sources, H)
        keys = values * torch.rsqrt(values.pow(2).mean(-1, keepdim=True)) * tensor(H)
        weights = torch.softmax(keys.reshape(-1, H) @ tensor(H, 1), 0).view(B * S, 1, sources)
        out = (weights @ values).view(B, S, H)
    return out


def per_layer_input(x, width=10):
    return (torch.nn.functional.gelu(x @ tensor(H, width)) * tensor(B, S, width)) @ tensor(width, H)


def newton_schulz(x, rows=20, columns=30, steps=5):
    m = tensor(rows, columns)
    for _ in range(steps):
        gram = m @ m.T
        m = 3 * m + (gram + gram @ gram) @ m
    return m


BLOCKS = {
    "attention": attention,
    "latent_attention": latent,
    "latent_attention, absorbed": lambda x: latent(x, absorbed=True),
    "native_sparse_attention": native_sparse,
    "gated_delta": gated_delta,
    "kimi_delta": kimi_delta,
    "lightning_attention": lightning,
    "mamba2": mamba2,
    "feed_forward": feed_forward,
    "mixture": mixture,
    "attention_residuals": attention_residuals,
    "per_layer_input": per_layer_input,
    "newton_schulz": newton_schulz,
}


def flops(block):
    """Of a forward and of a backward pass."""
    with FlopCounterMode(display=False) as forward:
        out = block(tensor(B, S, H) * 1)
    out = out if isinstance(out, tuple) else (out,)
    with FlopCounterMode(display=False) as backward:
        torch.autograd.backward(out, [torch.zeros_like(o) for o in out])
    return forward.get_total_flops(), backward.get_total_flops()


def table():
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["block", "forward", "backward"])
    for name, block in BLOCKS.items():
        rows.writerow([name, *flops(block)])
    return out.getvalue()


@unittest.skipUnless(torch, "PyTorch is not installed")
class Flops(unittest.TestCase):
    def test_the_recorded_rows_are_what_torch_counts(self):
        self.assertEqual(table(), DATA.read_text())


if __name__ == "__main__":
    if "--record" in sys.argv:
        DATA.write_text(table())
    else:
        unittest.main()
