"""Public functions of PyTorch that are not offered, by namespace: the reason, or what to use instead."""

_QUANTIZED = 'cast with to(torch.float8_e4m3fn), and see tenon.scaled_matmul'
_AUTOCAST = 'use torch.autocast, or get_autocast_dtype() and is_autocast_enabled() with a kind of device'
_SPARSE = 'sparse tensors are those of torch.sparse_coo_tensor and torch.sparse_csr_tensor'
_BACKEND = "it names one of PyTorch's backends: call the function of torch or torch.nn.functional"
_SCRIPT = "it belongs to PyTorch's compiler of scripts: call the function eagerly, or record it with tenon.compile"
_CELLS = 'use the modules of torch.nn'
_REMOVED = 'PyTorch has removed it: use torch.linalg'

_ABSENT = {
    '': {
        _QUANTIZED: '''choose_qparams_optimized dequantize empty_quantized
            fused_moving_avg_obs_fake_quant int_repr q_per_channel_axis q_per_channel_scales
            q_per_channel_zero_points q_scale q_zero_point quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic
            quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d
            quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell
            fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
            fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
            fbgemm_pack_quantized_matrix''',
        _AUTOCAST: '''autocast_decrement_nesting autocast_increment_nesting get_autocast_ipu_dtype get_autocast_xla_dtype
            is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
            set_autocast_xla_enabled''',
        _SPARSE: '''ccol_indices_copy col_indices_copy crow_indices_copy dsmm hsmm hspmm indices_copy resize_as_sparse_
            row_indices_copy saddmm smm sparse_bsc_tensor sparse_bsr_tensor sspaddmm values_copy''',
        _BACKEND: '''batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
            batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats convolution cudnn_affine_grid_generator
            cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
            cudnn_grid_sampler cudnn_is_acceptable miopen_batch_norm miopen_convolution miopen_convolution_add_relu
            miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
            mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
            mkldnn_rnn_layer native_batch_norm native_group_norm native_layer_norm native_norm
            is_vulkan_available profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 hash_tensor''',
        _SCRIPT: '''classproperty compiled_with_cxx11_abi get_file_path import_ir_module import_ir_module_from_buffer
            init_num_threads merge_type_from_type_comment parse_ir parse_schema parse_type_comment
            prepare_multiprocessing_environment slice_inverse sym_constrain_range sym_constrain_range_for_size sym_fresh_size
            unify_type_list''',
        "Python's `while` runs eagerly, tenon.graph.loop is recorded": 'while_loop',
        _CELLS: 'gru lstm rnn_relu rnn_tanh',
        _REMOVED: 'eig lstsq matrix_rank solve symeig',
        'torch.linalg.eigh finds all values': 'lobpcg',
        'use the function of its name in torch.nn.functional': 'binary_cross_entropy_with_logits embedding_bag poisson_nll_loss',
        'scale the rows that are used in torch.no_grad()': 'embedding_renorm_',
        "it belongs to PyTorch's own machinery": 'monitor package',
    },
    'nn.functional': {
        'use tenon.scaled_matmul': 'grouped_mm scaled_addmm scaled_addmm_ scaled_grouped_mm scaled_mm',
        _SCRIPT: '''Optional assert_int_or_pair boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary
            has_torch_function_variadic''',
    },
    'nn.init': {"it is of Python's typing": 'Literal'},
    'foreach': {"it is of Python's typing": 'overload'},
}
_WHY = {namespace: {name: why for why, names in reasons.items() for name in names.split()} for namespace, reasons in _ABSENT.items()}


def absent(namespace, name):
    """The AttributeError for a name of a namespace; '' is torch itself."""
    why = _WHY.get(namespace, {}).get(name)
    module = '.'.join(filter(None, ('torch', namespace)))
    if why:
        return AttributeError(f'[{module}.{name}] is not offered here: {why}')
    return AttributeError(f"module 'tenon.{module}' has no attribute {name!r}: docs/torch.md lists what is offered")
