"""A perceptron with its gradients and an attention, compiled by JAX."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np


def digest(tree):
    data = b"".join(np.asarray(leaf).astype(np.float32).tobytes() for leaf in jax.tree.leaves(tree))
    return hashlib.sha256(data).hexdigest()[:16]


def loss(weights, x, y):
    for weight in weights[:-1]:
        x = jax.nn.gelu(x @ weight)
    return jnp.mean((jax.nn.softmax(x @ weights[-1]) - y) ** 2)


@jax.jit
def train(weights, x, y):
    value, gradients = jax.value_and_grad(loss)(weights, x, y)
    return [w - 0.1 * g for w, g in zip(weights, gradients)], value


@jax.jit
def attention(q, k, v):
    score = jnp.einsum("hqd,hkd->hqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(score), v)


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 8)
    weights = [jax.random.normal(key, (512, 512)) * 0.05 for key in keys[:3]]
    x, y = (jax.random.normal(key, (4096, 512)) for key in keys[3:5])
    for _ in range(10):
        weights, value = train(weights, x, y)
    print(f"perceptron: {float(value):.6f}, {digest(weights)}", flush=True)
    q, k, v = (jax.random.normal(key, (16, 512, 64)) for key in keys[5:])
    for _ in range(10):
        out = attention(q, k, v)
    print(f"attention: {digest(out)}", flush=True)


if __name__ == "__main__":
    main()
