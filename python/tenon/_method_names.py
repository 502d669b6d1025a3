"""Lists the methods of Tensor that are PyTorch's functions, and those of PyTorch that are not offered.

The rule: functions of tenon mean what the Array API standard says, functions of tenon.torch and methods of Tensor mean what PyTorch
says. Where both agree, the method is the op itself and needs no line here.
"""

# Methods that are functions of tenon.torch with these names, or are written in tenon/torch/methods/ where a method takes its
# arguments differently. tenon.torch is imported when the first of them is used.
LATER = {topic: names.split() for topic, names in {
    'arithmetic': '''add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow float_power maximum
        minimum fmax fmin clamp clamp_max clamp_min clip lerp addcdiv addcmul copysign hypot atan2 arctan2 heaviside ldexp gcd lcm
        logaddexp logaddexp2 nextafter xlogy dist igamma igammac''',
    'comparison': '''eq ne lt le gt ge equal greater greater_equal less less_equal not_equal isclose allclose logical_and
        logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift''',
    'one operand': '''absolute angle arccos arccosh arcsin arcsinh arctan arctanh conj conj_physical deg2rad fix frac frexp i0
        imag isneginf isposinf isreal is_nonzero logit mvlgamma nan_to_num negative polygamma positive rad2deg real resolve_conj
        resolve_neg round sgn sigmoid sign sinc hardshrink prelu''',
    'reduction': '''sum nansum prod mean nanmean amax amin aminmax max min argmax argmin all any count_nonzero var std logsumexp
        norm renorm cumsum cumprod cummax cummin logcumsumexp diff softmax log_softmax trace median nanmedian mode quantile
        nanquantile''',
    'order': 'sort argsort msort topk kthvalue unique unique_consecutive bincount histc histogram corrcoef cov',
    'index': '''argwhere diagonal_scatter as_strided_scatter select_scatter slice_scatter gather index_add index_copy index_fill
        index_put index_reduce index_select masked_fill masked_scatter masked_select nonzero nonzero_static put scatter scatter_add
        scatter_reduce take take_along_dim where''',
    'shape': '''H mH adjoint as_strided broadcast_to diag diag_embed diagflat diagonal expand expand_as flatten flip fliplr flipud
        moveaxis movedim narrow narrow_copy permute ravel repeat repeat_interleave reshape_as roll rot90 select squeeze
        sum_to_size swapaxes swapdims t tile transpose tril triu unflatten unfold view_as''',
    'parts': '''chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes
        vsplit''',
    'matrix': '''addbmm addmm addmv addr baddbmm bmm cholesky cholesky_inverse cholesky_solve cross det dot geqrf ger inner inverse
        kron logdet lu lu_solve matmul matrix_exp matrix_power mm mv orgqr ormqr outer pinverse qr slogdet svd triangular_solve
        vdot stft istft''',
    'making': 'bernoulli multinomial new new_empty new_empty_strided new_full new_ones new_tensor new_zeros',
    'conversion': '''as_subclass cuda dequantize pin_memory sparse_mask to_dense to_sparse to_sparse_coo to_sparse_csc to_sparse_csr type
        type_as view''',
    'facts': '''const_data_ptr dim_order element_size get_device is_coalesced is_complex is_conj is_cpu is_cuda
        is_distributed is_floating_point is_inference is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_neg is_nested is_pinned is_quantized
        is_same_size is_set_to is_shared is_signed is_sparse is_sparse_csr is_vulkan is_xla is_xpu layout name ndimension nelement
        output_nr retains_grad storage stride untyped_storage''',
    'autograd': 'detach_ record_stream register_post_accumulate_grad_hook reinforce retain_grad',
    'in place': '''absolute_ add_ addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ apply_ as_strided_ arccos_ arccosh_ arcsin_ arcsinh_ arctan2_
        arctan_ arctanh_ atan2_ baddbmm_ bernoulli_ bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_
        bitwise_xor_ cauchy_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ copysign_ cumprod_ cumsum_ deg2rad_ div_
        divide_ eq_ exponential_ fill_diagonal_ fix_ float_power_ floor_divide_ fmod_ frac_ gcd_ ge_ geometric_ greater_
        greater_equal_ gt_ heaviside_ hypot_ i0_ igamma_ igammac_ index_add_ index_copy_ index_fill_ index_put_ index_reduce_ lcm_ ldexp_ le_ lerp_
        less_ less_equal_ log_normal_ logical_and_ logical_not_ logical_or_ logical_xor_ logit_ lt_ map2_ map_ masked_fill_
        masked_scatter_ mul_ multiply_ mvlgamma_ nan_to_num_ ne_ negative_ nextafter_ normal_ not_equal_ polygamma_ pow_ put_
        rad2deg_ random_ remainder_ renorm_ resize_ resize_as_ round_ scatter_ scatter_add_ scatter_reduce_ set_ sgn_ share_memory_ sigmoid_
        sign_ sinc_ squeeze_ sub_ subtract_ swapaxes_ swapdims_ t_ transpose_ tril_ triu_ true_divide_ unsqueeze_ uniform_ xlogy_''',
}.items()}

_DENSE = 'this tensor is dense, and blocks are not offered: see to_sparse() and to_sparse_csr()'

# Methods that are not offered, and what to use instead.
NOT_OFFERED = {name: why for names, why in {
    'resize resize_as': 'removed from PyTorch: use resize_() or reshape',
    '''ccol_indices coalesce col_indices crow_indices dense_dim indices row_indices smm sparse_dim sspaddmm
        to_sparse_bsc to_sparse_bsr values resize_as_sparse_ sparse_resize_
        sparse_resize_and_clear_ to_padded_tensor''': _DENSE,
    '''int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme''':
        'quantized tensors are not offered: cast with to(torch.float8_e4m3fn), and see tenon.scaled_matmul',
    'storage_type': 'a storage has the dtype of its tensor: see storage()',
    'chalf': 'there are no complex numbers of 32 bits: use cfloat()',
    'ipu mtia xpu to_mkldnn': 'move a tensor with to(device)',
    'eig': 'removed from PyTorch: use torch.linalg.eig',
    'lstsq': 'removed from PyTorch: use torch.linalg.lstsq',
    'solve': 'removed from PyTorch: use torch.linalg.solve',
    'symeig': 'removed from PyTorch: use torch.linalg.eigh',
    'volatile': 'removed from PyTorch: use torch.no_grad()',
    'slice_inverse module_load hash_tensor grad_dtype': "part of PyTorch's own machinery",
}.items() for name in names.split()}
