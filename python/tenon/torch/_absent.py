"""Public functions of PyTorch that are not offered, by namespace: the reason, or what to use instead."""

_QUANTIZED = 'cast with to(torch.float8_e4m3fn), and see tenon.scaled_matmul'
_AUTOCAST = 'use torch.autocast, or get_autocast_dtype() and is_autocast_enabled() with a kind of device'
_SPARSE = 'sparse tensors are those of torch.sparse_coo_tensor and torch.sparse_csr_tensor'
_BACKEND = "it names one of PyTorch's backends: call the function of torch or torch.nn.functional"
_SCRIPT = "it belongs to PyTorch's compiler of scripts: call the function eagerly, or record it with tenon.compile"
_CELLS = 'use the modules of torch.nn'
_REMOVED = 'PyTorch has removed it: use torch.linalg'

_MACHINERY = "it belongs to PyTorch's own machinery"
_NARROW = 'dtypes have 8 bits or more: tenon.quantize_int4 packs two numbers into a byte'
_STORAGE = 'use Tensor.untyped_storage()'
_DRIVER = 'ask the driver, with nvidia-smi or pynvml'
_ALLOCATOR = "memory is the core's: see torch.cuda.memory_stats() and empty_cache()"
_HISTORY = 'a device has one stream; torch.cuda.graph captures and replays work'
_GUARDS = 'programs are chosen by shapes, dtypes and devices: see tenon.compile'
_OWN_KERNELS = 'register a function with torch.library.custom_op, or write a plugin: docs/sdk/'
_RANGES = "quantize_dynamic() needs no data, and Program.quantize or tenon.compile(net, quantize='int8') measure ranges"

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
        _MACHINERY: '''monitor package AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig BenchmarkExecutionStats Block
            BoolType BufferDict CallStack Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType
            ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType DispatchKey DispatchKeySet
            EnumType ErrorReport ExcludeDispatchKeyGuard ExecutionPlan FatalError FileCheck FloatType FunctionSchema FutureType Gradient
            Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType JITException ListType LiteScriptModule LockingLogger
            ModuleDict Node NoneType NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType PyTorchFileWriter
            RRefType ScriptClass ScriptClassFunction ScriptDict ScriptList ScriptMethod ScriptModuleSerializer ScriptObject
            SerializationStorageContext StaticModule StreamObjType StringType SymBoolType SymIntType Tag ThroughputBenchmark TracingState
            TupleType Type UnionType Use Value''',
        _NARROW: '''bcomplex32 bit bits16 bits1x8 bits2x4 bits4x2 bits8 float4_e2m1fn_x2 int1 int2 int3 int4 int5 int6 int7 qint32
            quint2x4 quint4x2 uint1 uint2 uint3 uint4 uint5 uint6 uint7 qscheme''',
        'ask torch.backends': 'has_lapack has_mkl has_openmp has_spectral',
        'use torch.overrides.DisableTorchFunction and DisableTorchFunctionSubclass': 'DisableTorchFunction DisableTorchFunctionSubclass',
    },
    'cuda': {
        _STORAGE: '''BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage
            HalfStorage IntStorage LongStorage ShortStorage''',
        _DRIVER: '''clock_rate cudaStatus cudart check_error CudaError device_memory_used list_gpu_processes memory_usage power_draw temperature
            utilization''',
        _ALLOCATOR: '''CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete caching_allocator_disabled
            caching_allocator_enable change_current_allocator get_allocator_backend get_per_process_memory_fraction host_memory_stats
            host_memory_stats_as_nested_dict memory_snapshot reset_accumulated_host_memory_stats reset_accumulated_memory_stats
            reset_peak_host_memory_stats''',
        _HISTORY: 'ExternalStream GreenContext get_stream_from_external graph_pool_handle export_dot export_graph_data',
        _MACHINERY: '''DeferredCudaCallError can_device_access_peer current_blas_handle current_solver_handle get_gencode_flags has_half
            has_magma is_tf32_supported''',
    },
    'accelerator': {
        _ALLOCATOR: 'empty_host_cache reset_accumulated_memory_stats', _HISTORY: 'Graph',
        'see torch.cuda.get_device_capability()': 'get_device_capability',
    },
    'mps': {'there is no plugin for such devices': 'Stream stream current_stream default_stream set_stream load_metallib'},
    'compiler': {
        _GUARDS: '''keep_portable_guards_unsafe keep_tensor_guards_unsafe skip_all_guards_unsafe skip_guard_on_all_nn_modules_unsafe
            skip_guard_on_globals_unsafe skip_guard_on_inbuilt_nn_modules_unsafe set_enable_guard_collectives''',
        'save a program with torch.export.save()': 'load_cache_artifacts load_compiled_function save_cache_artifacts',
        _MACHINERY: 'PrecompileError cudagraph_mark_warmup_incomplete',
        'the function is recorded as it runs': 'substitute_in_graph wrap_numpy',
    },
    'library': {_OWN_KERNELS: 'fallthrough_kernel get_ctx get_kernel register_torch_dispatch triton_op wrap_triton'},
    'profiler': {'see torch.profiler.profile and ProfilerActivity': '''CuspyConfig DeviceType ExecutionTraceObserver PerformanceMetricsConfig
        ProfilerActivityConfig'''},
    'nn': {'give modules device= and dtype= as they are': 'factory_kwargs'},
    'nn.attention': {'scaled_dot_product_attention() has one kernel for each device': '''WARN_FOR_UNFUSED_KERNELS activate_flash_attention_impl
        current_flash_attention_impl list_flash_attention_impls register_flash_attention_impl restore_flash_attention_impl'''},
    'optim': {'move the state with load_state_dict()': 'swap_in_optimizer_params_and_state'},
    'ao.quantization': {_RANGES: ''},
    'autograd.profiler': {'see torch.profiler.profile': 'EnforceUnique KinetoStepTracker MemRecordsAcc emit_itt load_nvprof parse_nvprof_trace'},
    'testing': {'assert on the text itself': 'FileCheck'},
    'overrides': {'call the function within DisableTorchFunctionSubclass()': 'redispatch_function'},
    'export': {_MACHINERY: '''AdditionalInputs Constraint CustomDecompTable ExportBackwardSignature FlatArgsAdapter ModuleCallEntry
        ModuleCallSignature''', 'give export() dynamic_shapes': 'ShapesCollection'},
    'nn.functional': {
        'use tenon.scaled_matmul': 'grouped_mm scaled_addmm scaled_addmm_ scaled_grouped_mm scaled_mm',
        _SCRIPT: '''Optional assert_int_or_pair boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary
            has_torch_function_variadic''',
    },
    'nn.init': {"it is of Python's typing": 'Literal'},
    'foreach': {"it is of Python's typing": 'overload'},
}
# Without names, the reason is that for all names that are absent.
_WHY = {namespace: {name: why for why, names in reasons.items() for name in names.split() or ['']} for namespace, reasons in _ABSENT.items()}


def absent(namespace, name):
    """The AttributeError for a name of a namespace; '' is torch itself."""
    reasons = _WHY.get(namespace, {})
    why = reasons.get(name, reasons.get('') if name[:1] != '_' else None)
    module = '.'.join(filter(None, ('torch', namespace)))
    if why:
        return AttributeError(f'[{module}.{name}] is not offered here: {why}')
    return AttributeError(f"module 'tenon.{module}' has no attribute {name!r}: docs/torch.md lists what is offered")
