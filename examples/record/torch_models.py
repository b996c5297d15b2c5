"""Models of transformers with random weights, compiled by torch.compile: forward, backward, generation."""

import hashlib
import sys
import time

import torch
from transformers import BertConfig, BertModel, ConvNextConfig, ConvNextModel, GPT2Config, GPT2LMHeadModel


def digest(tensors):
    data = b"".join(t.detach().float().cpu().contiguous().numpy().tobytes() for t in tensors)
    return hashlib.sha256(data).hexdigest()[:16]


def step(name, model, inputs, steps):
    compiled = torch.compile(model)
    for _ in range(steps):
        model.zero_grad()
        out = compiled(**inputs)
        out = out.logits if hasattr(out, "logits") else out.last_hidden_state
        out.float().square().mean().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    print(f"{name}: forward {digest([out])}, gradients {digest(gradients)}", flush=True)


def main(which, steps):
    torch.manual_seed(0)
    gpu = torch.device("cuda")
    begin = time.time()
    if which in ("encoder", "all"):
        config = BertConfig(hidden_size=512, num_hidden_layers=2, num_attention_heads=8, intermediate_size=2048)
        model = BertModel(config).to(gpu, torch.bfloat16).eval()
        step("encoder", model, {"input_ids": torch.randint(0, 30000, (8, 256), device=gpu)}, steps)
    if which in ("decoder", "all"):
        config = GPT2Config(n_layer=2, n_embd=512, n_head=8, use_cache=True, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0)
        model = GPT2LMHeadModel(config).to(gpu, torch.bfloat16)
        step("decoder", model, {"input_ids": torch.randint(0, 50000, (4, 256), device=gpu)}, steps)
        prompt = torch.randint(0, 50000, (1, 16), device=gpu)
        tokens = model.eval().generate(prompt, max_new_tokens=16, do_sample=False, pad_token_id=0)
        print(f"generation: {tokens[0, 16:].tolist()}", flush=True)
    if which in ("convolutions", "all"):
        config = ConvNextConfig(hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2])
        model = ConvNextModel(config).to(gpu, torch.bfloat16)
        step("convolutions", model, {"pixel_values": torch.randn(8, 3, 224, 224, device=gpu, dtype=torch.bfloat16)}, steps)
    print(f"{time.time() - begin:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "all", int(sys.argv[2]) if len(sys.argv) > 2 else 6)
