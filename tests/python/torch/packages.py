"""Models of packages that are written for PyTorch: python [-m tenon.torch] packages.py FOLDER writes their results and gradients.

Weights and inputs are drawn by NumPy, so that PyTorch and Tenon compute the same. Models are small, and their code is that of the packages.
"""
import os
import sys
import warnings

import numpy as np

try:
    import torch
except ImportError:  # where PyTorch is not installed the tests ask for names alone
    torch = None

TEXT = {'vocab_size': 99, 'hidden_size': 32, 'intermediate_size': 64, 'num_hidden_layers': 2, 'num_attention_heads': 4}
BOTH_WAYS = {'vocab_size': 99, 'd_model': 32, 'encoder_layers': 2, 'decoder_layers': 2, 'encoder_attention_heads': 4, 'decoder_attention_heads': 4,
             'encoder_ffn_dim': 64, 'decoder_ffn_dim': 64}


def numbers(*shape, seed=2):
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape).astype('float32'))


def tokens(*shape):
    return torch.from_numpy(np.random.RandomState(1).randint(3, 99, shape))


def transformer(name, run, **sizes):
    """A model of transformers, without dropout as it is evaluated, and how it is called."""
    def make():
        import transformers
        kind = getattr(transformers, name)
        return kind(kind.config_class(**sizes))
    return make, run


def said(model):
    text = tokens(2, 12)
    return model(input_ids=text, labels=text)


def read(model):
    return model(input_ids=tokens(2, 12)).last_hidden_state


def translated(model):
    return model(input_ids=tokens(2, 12), labels=tokens(2, 7))


def seen(model):
    return model(pixel_values=numbers(2, 3, 32, 32)).last_hidden_state


def heard(model):
    return model(input_features=numbers(2, 8, 32), labels=tokens(2, 6))


def image_model(package, name, size=64, **options):
    """A model of timm or torchvision that classifies images."""
    def make():
        if package == 'timm':
            import timm
            return timm.create_model(name, num_classes=10, **options)
        import torchvision
        return torchvision.models.get_model(name, weights=None, **options)
    return make, lambda model: model(numbers(2, 3, size, size))


MODELS = {
    'transformers Llama': transformer('LlamaForCausalLM', said, **TEXT, num_key_value_heads=2),
    'transformers Mixtral': transformer('MixtralForCausalLM', said, **TEXT, num_key_value_heads=2, num_local_experts=4),
    'transformers Gemma 2': transformer('Gemma2ForCausalLM', said, **TEXT, num_key_value_heads=2, head_dim=8),
    'transformers GPT-2': transformer('GPT2LMHeadModel', said, vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    'transformers Mamba': transformer('MambaForCausalLM', said, vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8),
    'transformers BERT': transformer('BertModel', read, **TEXT),
    'transformers T5': transformer('T5ForConditionalGeneration', translated, vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                                   decoder_start_token_id=0),
    'transformers ViT': transformer('ViTModel', seen, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32,
                                    patch_size=8),
    'transformers Whisper': transformer('WhisperForConditionalGeneration', heard, **BOTH_WAYS, num_mel_bins=8, max_source_positions=16,
                                        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1),
    'timm ResNet-18': image_model('timm', 'resnet18'),
    'timm ViT': image_model('timm', 'vit_tiny_patch16_224', img_size=64),
    'timm ConvNeXt': image_model('timm', 'convnext_atto'),
    'timm EfficientNet': image_model('timm', 'efficientnet_lite0'),
    'torchvision MobileNetV3': image_model('torchvision', 'mobilenet_v3_small'),
    'torchvision Swin': image_model('torchvision', 'swin_v2_t'),
    'torchvision RegNet': image_model('torchvision', 'regnet_y_400mf'),
}


def draw(model):
    """Weights by NumPy, in the order of their names."""
    random = np.random.RandomState(0)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            drawn = random.randn(*weight.shape)
            if weight.dim() > 1:
                drawn /= max(1, weight.numel() // weight.shape[0]) ** 0.5
            else:
                drawn = 0.1 * drawn + name.endswith('weight')
            weight.copy_(torch.from_numpy(np.asarray(drawn, 'float32')))


def tensors(found):
    if isinstance(found, torch.Tensor):
        return [found]
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, (list, tuple)) else ()
    return [x for part in parts for x in tensors(part)]


def results(name):
    """Results of a model and gradients of their weighted sum, by name."""
    make, run = MODELS[name]
    model = make().eval()
    draw(model)
    found = [x for x in tensors(run(model)) if x.is_floating_point()]
    loss = sum((x * numbers(*x.shape, seed=7) if x.dim() else x).sum() for x in found if x.requires_grad)
    loss.backward()
    return {**{f'result {i}': x.detach().numpy() for i, x in enumerate(found)},
            **{f'gradient of {key}': weight.grad.numpy() for key, weight in model.named_parameters() if weight.grad is not None}}


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    for each in MODELS:
        np.savez(os.path.join(sys.argv[1], each.replace(' ', '_') + '.npz'), **results(each))
