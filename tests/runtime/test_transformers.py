# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of models whose layers differ: what `hocket cost report` counts is what transformers builds.

    HOCKET=build/dev/examples/hocket_cli/hocket python3 -m unittest discover -s tests/runtime   (needs PyTorch, transformers)

Models are built on the meta device: no weights, no network. Buffers that correct a router's scores are counted as
parameters, as published checkpoints have them. One difference is named: LongCat's zero experts, see LONGCAT.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

try:
    import torch
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError:
    transformers = None

HERE = pathlib.Path(__file__).resolve().parent
TOOL = os.environ.get("HOCKET", str(HERE.parents[1] / "build" / "dev" / "examples" / "hocket_cli" / "hocket"))

# Default sizes, where a family has them all, and two others that take every flag of its row once.
CASES = {
    "qwen3_next": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=10, num_experts=16, head_dim=64, linear_num_value_heads=8,
             linear_num_key_heads=4, linear_value_head_dim=64),
        dict(num_hidden_layers=7, mlp_only_layers=[0, 3], decoder_sparse_step=2, tie_word_embeddings=True,
             attention_bias=True, num_experts=8, num_experts_per_tok=4, linear_conv_kernel_dim=3),
    ],
    "qwen3_5_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, head_dim=128, linear_num_value_heads=48),
        dict(num_hidden_layers=5, tie_word_embeddings=True, intermediate_size=3000, num_key_value_heads=1),
    ],
    "qwen3_5_moe_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_experts=32, shared_expert_intermediate_size=700),
        dict(num_hidden_layers=5, tie_word_embeddings=True, moe_intermediate_size=300, num_key_value_heads=1),
    ],
    "qwen3_moe": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_experts=32, head_dim=100),
        dict(num_hidden_layers=8, decoder_sparse_step=2, mlp_only_layers=[1], attention_bias=True,
             tie_word_embeddings=True),
    ],
    "deepseek_v2": [
        dict(num_experts_per_tok=6),
        dict(hidden_size=1024, num_hidden_layers=9, first_k_dense_replace=2, q_lora_rank=None,
             n_routed_experts=10, num_experts_per_tok=6),
        dict(num_hidden_layers=5, attention_bias=True, tie_word_embeddings=True, num_attention_heads=16,
             num_key_value_heads=16, v_head_dim=64, num_experts_per_tok=6),
    ],
    "deepseek_v32": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, first_k_dense_replace=2, n_routed_experts=16, index_n_heads=4),
        dict(num_hidden_layers=5, attention_bias=True, tie_word_embeddings=True, num_attention_heads=16,
             num_key_value_heads=16, index_head_dim=64, n_routed_experts=16),
    ],
    "deepseek_v4": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, n_routed_experts=16, index_n_heads=4, hc_mult=2),
        dict(num_hidden_layers=4, num_attention_heads=16, head_dim=128, o_groups=4, o_lora_rank=100,
             q_lora_rank=200, n_routed_experts=16, n_shared_experts=1),
    ],
    "glm4_moe": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, n_routed_experts=16, head_dim=64, use_qk_norm=True),
        dict(num_hidden_layers=5, first_k_dense_replace=3, attention_bias=True, n_routed_experts=16),
    ],
    "glm4_moe_lite": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, n_routed_experts=16),
        dict(num_hidden_layers=5, mlp_layer_types=["dense", "dense", "sparse", "dense", "sparse"],
             attention_bias=True, n_routed_experts=16),
    ],
    "glm_moe_dsa": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, n_routed_experts=16, index_topk_freq=4, index_skip_topk_offset=3),
        dict(num_hidden_layers=5, indexer_types=["full", "shared", "full", "shared", "shared"],
             n_routed_experts=16, index_n_heads=8),
    ],
    "kimi_linear": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_experts=16, linear_num_heads=8, linear_head_dim=64),
        dict(num_hidden_layers=5, num_experts=16, q_lora_rank=300, num_shared_experts=2, num_experts_per_token=3),
    ],
    "bailing_hybrid": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_experts=16, linear_num_heads=8),
        dict(num_hidden_layers=13, layer_group_size=4, first_k_dense_replace=1, num_experts=16, q_lora_rank=300),
    ],
    "youtu": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9),
        dict(q_lora_rank=None, tie_word_embeddings=False),
    ],
    "minimax": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_local_experts=4, num_attention_heads=16),
        dict(num_hidden_layers=5, layer_types=["linear_attention"] * 4 + ["full_attention"],
             num_key_value_heads=4, head_dim=64),
    ],
    "minimax_m2": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_local_experts=16),
        dict(num_hidden_layers=5, num_key_value_heads=4, head_dim=64, num_local_experts=16),
    ],
    "llama4_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_local_experts=4, interleave_moe_layer_step=2),
        dict(num_hidden_layers=5, moe_layers=[1, 2], attention_bias=True, num_key_value_heads=4, head_dim=64),
    ],
    "gemma3_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_attention_heads=4, head_dim=64),
        dict(num_hidden_layers=5, tie_word_embeddings=False, attention_bias=True),
    ],
    "gemma3n_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=10, num_kv_shared_layers=4, intermediate_size=2048,
             activation_sparsity_pattern=[0.0] * 10),
        dict(hidden_size=512, num_hidden_layers=12, num_kv_shared_layers=2, altup_num_inputs=3, laurel_rank=32,
             hidden_size_per_layer_input=64, intermediate_size=[1000] * 12, activation_sparsity_pattern=[0.0] *
             12),
    ],
    "gemma4_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=12, num_kv_shared_layers=4, use_double_wide_mlp=True),
        dict(num_hidden_layers=6, attention_k_eq_v=True, num_global_key_value_heads=2, global_head_dim=256,
             enable_moe_block=True, num_experts=16, top_k_experts=4, moe_intermediate_size=300,
             hidden_size_per_layer_input=0),
    ],
    "nemotron_h": [
        dict(),
        dict(layers_block_type=["linear_attention", "moe", "linear_attention", "full_attention", "mlp"],
             hidden_size=1024, mamba_num_heads=16, n_groups=4),
        dict(layers_block_type=["moe", "moe", "mlp"], moe_latent_size=256, mlp_bias=False, n_routed_experts=32,
             head_dim=64),
    ],
    "falcon_h1": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=5, mamba_d_ssm=2048, mamba_n_heads=32, mamba_d_head=64,
             mamba_rms_norm=True),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, mamba_n_groups=2, tie_word_embeddings=True),
    ],
    "falcon_mamba": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=5, state_size=32),
        dict(expand=3, conv_kernel=3, use_bias=True, tie_word_embeddings=False),
    ],
    "mamba": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=5, state_size=32),
        dict(expand=3, conv_kernel=3, use_bias=True, tie_word_embeddings=False, use_conv_bias=False),
    ],
    "mamba2": [
        dict(),
        dict(hidden_size=1024, num_heads=32, head_dim=64, num_hidden_layers=5, state_size=32),
        dict(num_hidden_layers=3, n_groups=4, use_bias=True, use_conv_bias=False, tie_word_embeddings=True),
    ],
    "jamba": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_experts=4, mamba_dt_rank=100),
        dict(num_hidden_layers=6, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=3,
             expert_layer_offset=2, mamba_proj_bias=True, num_experts=4),
    ],
    "bamba": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, mamba_n_heads=32, attn_layer_indices=[2, 5]),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, mamba_conv_bias=False,
             mamba_proj_bias=True, tie_word_embeddings=True),
    ],
    "zamba2": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=6, num_mem_blocks=1, layers_block_type=["linear_attention",
             "hybrid", "linear_attention", "hybrid", "hybrid", "linear_attention"], num_attention_heads=16,
             num_key_value_heads=16),
        dict(hidden_size=512, num_mem_blocks=2, use_shared_attention_adapter=True, adapter_rank=16,
             num_hidden_layers=7, layers_block_type=["hybrid", "linear_attention", "hybrid", "linear_attention",
             "hybrid", "hybrid", "linear_attention"], num_attention_heads=8, num_key_value_heads=8),
    ],
    "granitemoehybrid": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=4, mamba_n_heads=32, layer_types=["linear_attention",
             "full_attention", "linear_attention", "full_attention"], num_attention_heads=16,
             num_key_value_heads=4),
        dict(num_hidden_layers=3, num_local_experts=0, mamba_proj_bias=True, tie_word_embeddings=True,
             attention_bias=True),
    ],
    "granitemoeshared": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=4, shared_intermediate_size=500, num_attention_heads=16,
             num_key_value_heads=4),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=True),
    ],
    "longcat_flash": [
        dict(),
        dict(hidden_size=1024, num_layers=3, zero_expert_num=0, n_routed_experts=16),
        dict(num_layers=2, zero_expert_num=0, n_routed_experts=8, q_lora_rank=200, attention_bias=True, moe_topk=4),
    ],
    "ernie4_5_moe": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, moe_num_experts=8, moe_layer_interval=2,
             moe_layer_start_index=0, moe_layer_end_index=4, num_attention_heads=16),
        dict(num_hidden_layers=4, use_bias=True, moe_num_shared_experts=0, tie_word_embeddings=False,
             moe_layer_end_index=-1),
    ],
    "exaone4": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=8),
        dict(num_hidden_layers=4, head_dim=64, tie_word_embeddings=True, sliding_window=None,
             layer_types=["full_attention"] * 4),
    ],
    "hy_v3": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_experts=8),
        dict(num_hidden_layers=4, attention_bias=True, num_experts=8, tie_word_embeddings=True, num_shared_experts=2),
    ],
    "hunyuan_v1_dense": [
        dict(head_dim=128),
        dict(head_dim=64, hidden_size=1024, num_hidden_layers=7),
        dict(head_dim=128, attention_bias=True, tie_word_embeddings=True, num_key_value_heads=8),
    ],
    "hunyuan_v1_moe": [
        dict(head_dim=128),
        dict(head_dim=64, hidden_size=1024, num_hidden_layers=7, num_experts=8, moe_topk=2),
        dict(head_dim=128, attention_bias=True, tie_word_embeddings=True, num_key_value_heads=8, num_experts=4),
    ],
    "lfm2": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, full_attn_idxs=[1, 4]),
        dict(num_hidden_layers=5, layer_types=["conv", "full_attention", "conv", "conv", "conv"], conv_bias=True,
             block_auto_adjust_ff_dim=False),
    ],
    "lfm2_moe": [
        dict(layer_types=["conv"] * 2 + ["full_attention", "conv"] * 15),
        dict(hidden_size=1024, num_hidden_layers=4, layer_types=["conv", "full_attention", "conv",
             "full_attention"], num_experts=8),
        dict(num_hidden_layers=5, layer_types=["conv"] * 4 + ["full_attention"], conv_bias=True,
             num_dense_layers=1, use_expert_bias=False),
    ],
    "olmo3": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=8),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=True),
    ],
    "flex_olmo": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=8),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=True, num_experts=3, num_experts_per_tok=2),
    ],
    "ministral3": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4),
        dict(num_hidden_layers=4, head_dim=64, tie_word_embeddings=True),
    ],
    "internlm3": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4),
        dict(num_hidden_layers=4, head_dim=64, tie_word_embeddings=True),
    ],
    "apertus": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=True),
    ],
    "arcee": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4),
        dict(num_hidden_layers=4, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    ],
    "afmoe": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, num_dense_layers=2, num_experts=8),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=True, num_shared_experts=1, num_experts=8),
    ],
    "solar_open": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, n_routed_experts=8),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=True, n_shared_experts=2,
             n_routed_experts=8),
    ],
    "mimo_v2_flash": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, n_routed_experts=8),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=True, n_routed_experts=8, v_head_dim=64),
    ],
    # The language model alone: encoders of images and sound are not counted.
    "phi4_multimodal": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=5, num_attention_heads=16, num_key_value_heads=4),
        dict(num_hidden_layers=3, intermediate_size=1000, vocab_size=250000, tie_word_embeddings=False),
    ],
    "cwm": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, num_attention_heads=16),
        dict(num_hidden_layers=3, mlp_bias=True, tie_word_embeddings=True, head_dim=64),
    ],
    "dots1": [
        dict(n_routed_experts=16, num_experts_per_tok=6, n_shared_experts=2),
        dict(n_routed_experts=8, num_experts_per_tok=6, hidden_size=1024, num_hidden_layers=7, first_k_dense_replace=2,
             n_shared_experts=1),
        dict(n_routed_experts=8, num_experts_per_tok=2, num_hidden_layers=3, attention_bias=True, n_shared_experts=1,
             tie_word_embeddings=True),
    ],
    "exaone_moe": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, num_experts=8, first_k_dense_replace=3),
        dict(num_hidden_layers=3, num_shared_experts=2, num_experts=8, tie_word_embeddings=True),
    ],
    "granite_swa": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_attention_heads=16),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, tie_word_embeddings=False),
    ],
    "granitemoe_swa": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, shared_intermediate_size=500),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=True, num_local_experts=4),
    ],
    "helium": [
        dict(),
        dict(hidden_size=1280, num_attention_heads=10, num_hidden_layers=7, num_key_value_heads=5),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    ],
    "hyperclovax": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, use_post_norm=False),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    ],
    "iquestcoder": [
        dict(),
        dict(hidden_size=1280, num_hidden_layers=7, head_dim=64),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    ],
    "jais2": [
        dict(),
        dict(hidden_size=1664, num_hidden_layers=7, num_key_value_heads=13),
        dict(num_hidden_layers=3, attention_bias=False, mlp_bias=False, tie_word_embeddings=True),
    ],
    "minicpm3": [
        dict(),
        dict(hidden_size=1280, num_hidden_layers=7, q_lora_rank=300),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=False),
    ],
    "ministral": [
        dict(head_dim=128),
        dict(head_dim=64, hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4),
        dict(head_dim=128, num_hidden_layers=3, tie_word_embeddings=True),
    ],
    "nanochat": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_attention_heads=8, num_key_value_heads=2),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=True),
    ],
    "nemotron": [
        dict(num_key_value_heads=8),
        dict(hidden_size=1024, num_hidden_layers=7, num_attention_heads=16, num_key_value_heads=4),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, tie_word_embeddings=True, num_key_value_heads=8),
    ],
    "olmo_hybrid": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=9, num_attention_heads=16, num_key_value_heads=4, linear_key_head_dim=64),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=True, linear_num_value_heads=60),
    ],
    "persimmon": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_attention_heads=16),
        dict(num_hidden_layers=3, qk_layernorm=False, tie_word_embeddings=True),
    ],
    "sarvam_mla": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, n_routed_experts=8, first_k_dense_replace=2),
        dict(num_hidden_layers=3, n_routed_experts=8, n_shared_experts=2, tie_word_embeddings=True),
    ],
    "sarvam_moe": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, n_routed_experts=8, first_k_dense_replace=2, use_qk_norm=False),
        dict(num_hidden_layers=3, n_routed_experts=8, n_shared_experts=2, tie_word_embeddings=True),
    ],
    "axk1": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, n_routed_experts=8),
        dict(num_hidden_layers=3, n_routed_experts=8, n_shared_experts=2, tie_word_embeddings=True),
    ],
    "vaultgemma": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=2),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=False, head_dim=64),
    ],
    "mellum": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_local_experts=8),
        dict(num_hidden_layers=3, attention_bias=True, num_local_experts=8, tie_word_embeddings=True),
    ],
    "aria_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, moe_num_experts=4, num_key_value_heads=4),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=True, moe_num_shared_experts=1),
    ],
    "kolibri1": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_local_experts=8),
        dict(num_hidden_layers=3, num_local_experts=8, tie_word_embeddings=True, shared_expert_intermediate_size=300),
    ],
    "flint": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_experts=8),
        dict(num_hidden_layers=4, num_experts=8, attention_bias=True, tie_word_embeddings=True, mlp_only_layers=[1]),
    ],
    "laguna": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_experts=8, num_attention_heads=16),
        dict(num_hidden_layers=4, num_experts=8, attention_bias=True, tie_word_embeddings=True),
    ],
    "lara_mini": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=7, num_experts=8),
        dict(num_hidden_layers=4, num_experts=8, attention_bias=True, tie_word_embeddings=False),
    ],
    "lfm3": [
        dict(),
        dict(hidden_size=1024, use_attention_gate=False, use_sandwich_norm=False),
        dict(conv_bias=True, conv_L_cache=3, tie_word_embeddings=False),
    ],
    "minimax_m3_vl_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_local_experts=8),
        dict(num_hidden_layers=3, num_local_experts=8, shared_intermediate_size=500, tie_word_embeddings=True),
    ],
    "cohere2_moe": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4, num_shared_experts=2, num_experts=4,
             intermediate_size=500),
        dict(num_hidden_layers=3, mlp_layer_types=["dense", "sparse", "sparse"], prefix_dense_intermediate_size=3000,
             attention_bias=True, tie_word_embeddings=False, num_experts=4),
    ],
    "bitnet": [
        dict(),
        dict(hidden_size=1280, num_hidden_layers=7),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=True),
    ],
    "biogpt": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=7, intermediate_size=1000),
        dict(num_hidden_layers=3, max_position_embeddings=500, tie_word_embeddings=False),
    ],
    "exaone": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4),
        dict(num_hidden_layers=3, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    ],
    "apertus1p5_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, num_key_value_heads=4),
        dict(num_hidden_layers=3, attention_bias=True, tie_word_embeddings=True),
    ],
    "hy_v4": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=7, n_routed_experts=8, hc_mult=2),
        dict(num_hidden_layers=4, n_routed_experts=8, num_attention_heads=16, num_key_value_heads=16),
    ],
    "hrm_text": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=3, num_attention_heads=4, H_cycles=2, L_cycles=2, vocab_size=3000),
        dict(num_hidden_layers=2, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    ],
    "dory": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=7, n_input_layers=2, n_output_layers=2, n_recurrent_loops=3,
             num_attention_heads=4, num_key_value_heads=2, head_dim=64, intermediate_size=900, vocab_size=3000),
        dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True, n_recurrent_loops=1),
    ],
    "beam": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=8, num_attention_heads=8, num_experts=16, moe_intermediate_size=100,
             intermediate_size=900, vocab_size=3000),
        dict(num_hidden_layers=2, attention_bias=True, tie_word_embeddings=True, num_experts=16),
    ],
    "axk2": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=5, n_routed_experts=16, vocab_size=3000),
        dict(num_hidden_layers=3, n_routed_experts=16, attention_bias=True, gated_norm_rank=7),
    ],
    "zaya": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=5, num_attention_heads=6, num_key_value_heads=3, num_experts=8,
             router_hidden_size=40, cca_time0=3, cca_time1=4, lm_head_bias=True, vocab_size=3000),
        dict(num_hidden_layers=4, attention_bias=True, tie_word_embeddings=False, sliding_window=128,
             layer_types=["hybrid", "hybrid_sliding", "hybrid", "hybrid"]),
    ],
    "inkling_text": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=8, n_routed_experts=16, swa_num_attention_heads=8,
             swa_num_key_value_heads=2, swa_head_dim=96, num_attention_heads=16, d_rel=12, conv_kernel_size=3,
             rel_extent=300, vocab_size=3000, mlp_layer_types=["dense"] * 3 + ["sparse"] * 5),
        dict(num_hidden_layers=3, local_layer_ids=[0], n_shared_experts=1, n_routed_experts=8, num_mtp_layers=2,
             tie_word_embeddings=True),
    ],
    "inkling2_text": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=8, n_routed_experts=16, swa_num_attention_heads=8,
             swa_num_key_value_heads=2, swa_head_dim=96, num_attention_heads=16, d_rel=12, conv_kernel_size=3,
             rel_extent=300, vocab_size=3000, unpadded_vocab_size=2900, n_layers_per_attn_res_block=3),
        dict(num_hidden_layers=3, layer_types=["hybrid", "hybrid_sliding", "hybrid"], n_routed_experts=8),
    ],
    "inkling2_loop_text": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=8, n_routed_experts=16, swa_num_attention_heads=8, loop_layer_index_start=2,
             loop_layer_index_end=6, n_layers_per_attn_res_block=2, loop_num_passes=4, loop_gate_rank=10,
             vocab_size=3000, unpadded_vocab_size=2900, num_key_value_heads=4),
        dict(num_hidden_layers=24, loop_num_passes=2, n_routed_experts=8),
    ],
    "qwen4_exp_text": [
        dict(indexer_n_heads=16, indexer_kv_heads=1, indexer_head_dim=256, indexer_budget=2048,
             indexer_compress_ratio=64),
        dict(hidden_size=512, num_hidden_layers=5, num_experts=16, hc_count=2, hc_lowrank=30, indexer_n_heads=3,
             indexer_kv_heads=1, indexer_head_dim=96, head_dim=64, indexer_budget=64, indexer_compress_ratio=4, ple_layer_ids=[1, 3],
             ngram_vocab_size_base=1000, heads_per_ngram=4, ple_embed_dim=96, ple_conv_kernel_size=3, eos_token_id=1,
             vocab_size=3000, attention_bias=True),
        dict(num_hidden_layers=3, layer_types=["linear_attention"] * 3, num_experts=16, tie_word_embeddings=True,
             ple_layer_ids=[2], ngram_size=2, eos_token_id=[1]),
    ],
    "dots3_note_text": [
        dict(),
        dict(hidden_size=512, num_hidden_layers=7, n_routed_experts=16, index_n_heads=4, first_k_dense_replace=2,
             swa_num_attention_heads=16, swa_num_key_value_heads=16, swa_kv_lora_rank=100, vocab_size=160000,
             shared_experts_intermediate_size=300, n_shared_experts=2),
        dict(num_hidden_layers=4, use_dsa=False, use_sliding_window=False, n_routed_experts=8, attention_bias=True,
             mlp_bias=True, tie_word_embeddings=True),
    ],
    "gemma4_unified_text": [
        dict(),
        dict(hidden_size=1024, num_hidden_layers=12),
        dict(num_hidden_layers=6, attention_bias=True),
    ],
}
# Families of equal layers, by their own default sizes and two others.
EQUAL = """llama granite smollm3 olmo seed_oss ernie4_5 glm glm4 stablelm cohere cohere2 olmo2 olmoe gpt_oss mistral phi3
mixtral granitemoe phimoe qwen2 qwen2_moe qwen3 gemma gemma2 starcoder2 gpt2 gpt_bigcode gptj codegen gpt_neox opt bloom phi
falcon mpt deepseek_v3""".split()
HIDDEN = {"falcon": 2272, "starcoder2": 1536, "gpt2": 1536, "gpt_bigcode": 1536, "opt": 1536}  # others: 2048
for _family in EQUAL:
    CASES[_family] = [dict(), dict(num_hidden_layers=5, hidden_size=HIDDEN.get(_family, 2048)),
                      dict(num_hidden_layers=4, vocab_size=200064, tie_word_embeddings=True)]
# Flags that few published files set, each on the second sizes of its family.
FLAGS = {
    "deepseek_v2": [dict(mlp_bias=True)],
    "deepseek_v3": [dict(attention_bias=True)],
    "deepseek_v32": [dict(mlp_bias=True)],
    "deepseek_v4": [dict(mlp_bias=True)],
    "glm_moe_dsa": [dict(mlp_bias=True)],
    "hy_v3": [dict(mlp_bias=True)],
    "aria_text": [dict(mlp_bias=True)],
    "nemotron_h": [dict(mlp_bias=True), dict(use_bias=True), dict(mamba_proj_bias=True), dict(tie_word_embeddings=True)],
    "ernie4_5_moe": [dict(use_bias=True)],
    "falcon_h1": [dict(mamba_proj_bias=True), dict(projectors_bias=True)],
    "qwen2_moe": [dict(qkv_bias=False)],
    "lfm3": [dict(attention_bias=True)],
    "bailing_hybrid": [dict(tie_word_embeddings=True)],
    "kimi_linear": [dict(tie_word_embeddings=True)],
    "zamba2": [dict(attention_head_dim=256), dict(tie_word_embeddings=False)],
    "laguna": [dict(gating=False)],
}
for _family, _flags in FLAGS.items():
    CASES[_family] += [{**CASES[_family][1], **flag} for flag in _flags]
ROUTER_BIASES = ("e_score_correction_bias", "expert_bias", "balancing_biases")
# transformers makes room for the first product of zero experts, 2 x width x hidden for each of them in every layer.
LONGCAT = 28 * 256 * 2 * 2048 * 6144


def built(family, sizes):
    """The config as transformers saves it, and how many parameters the model has."""
    config = AutoConfig.for_model(family, **sizes)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    count = sum(p.numel() for name, p in model.named_parameters() if "embed_tokens_extend" not in name)
    count += sum(b.numel() for name, b in model.named_buffers() if name.endswith(ROUTER_BIASES))
    return json.loads(config.to_json_string(use_diff=False)), count


def counted(folder, config):
    path = pathlib.Path(folder) / "config.json"
    path.write_text(json.dumps(config))
    done = subprocess.run([TOOL, "cost", "report", "--model", path, "--format", "json"], capture_output=True, text=True,
                          timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["parameters"]["total"]


@unittest.skipUnless(transformers, "transformers is not installed")
class Parameters(unittest.TestCase):
    def test_every_family_in_three_sizes(self):
        transformers.logging.set_verbosity_error()
        with tempfile.TemporaryDirectory() as folder:
            for family, sizes in CASES.items():
                for number, case in enumerate(sizes):
                    with self.subTest(family=family, case=number):
                        config, count = built(family, case)
                        named = LONGCAT if family == "longcat_flash" and number == 0 else 0
                        self.assertEqual(counted(folder, config), count - named)


if __name__ == "__main__":
    unittest.main()
