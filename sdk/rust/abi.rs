//! The C ABI of Tenon in Rust: types, tables and constants of tenon/plugin.h and what it includes.
//! Written by `./dev abi --update` from the C headers; not edited by hand. No crates, no std; Rust 1.56 and later.
#![allow(non_camel_case_types, non_upper_case_globals, dead_code)]

use core::ffi::c_void;

pub type c_char = u8; // UTF-8, not NUL-terminated

pub const TN_ABI_MAJOR: u32 = 1;
pub const TN_ABI_MINOR: u32 = 1;
pub const TN_MEMORY_ADDRESSABLE: u32 = 1;
pub const TN_OK: u32 = 0;
pub const TN_INVALID_ARGUMENT: u32 = 1;
pub const TN_OUT_OF_RANGE: u32 = 2;
pub const TN_NOT_FOUND: u32 = 3;
pub const TN_ALREADY_EXISTS: u32 = 4;
pub const TN_UNIMPLEMENTED: u32 = 5;
pub const TN_OUT_OF_MEMORY: u32 = 6;
pub const TN_FAILED_PRECONDITION: u32 = 7;
pub const TN_DEVICE_LOST: u32 = 8;
pub const TN_IO: u32 = 9;
pub const TN_DATA_LOSS: u32 = 10;
pub const TN_INTERNAL: u32 = 11;
pub const TN_CANCELLED: u32 = 12;
pub const TN_TIMEOUT: u32 = 13;
pub const TN_PEER_LOST: u32 = 14;
pub const TN_DEVICE_KIND_CPU: u32 = 0;
pub const TN_DEVICE_KIND_GPU: u32 = 1;
pub const TN_DEVICE_KIND_INTEGRATED_GPU: u32 = 2;
pub const TN_DEVICE_KIND_SOFTWARE: u32 = 3;
pub const TN_DEVICE_KIND_OTHER: u32 = 4;
pub const TN_DTYPE_BOOL: u32 = 0;
pub const TN_DTYPE_U8: u32 = 1;
pub const TN_DTYPE_U16: u32 = 2;
pub const TN_DTYPE_U32: u32 = 3;
pub const TN_DTYPE_U64: u32 = 4;
pub const TN_DTYPE_I8: u32 = 5;
pub const TN_DTYPE_I16: u32 = 6;
pub const TN_DTYPE_I32: u32 = 7;
pub const TN_DTYPE_I64: u32 = 8;
pub const TN_DTYPE_F16: u32 = 9;
pub const TN_DTYPE_BF16: u32 = 10;
pub const TN_DTYPE_F32: u32 = 11;
pub const TN_DTYPE_F64: u32 = 12;
pub const TN_DTYPE_C64: u32 = 13;
pub const TN_DTYPE_C128: u32 = 14;
pub const TN_DTYPE_F8_E4M3: u32 = 15;
pub const TN_DTYPE_F8_E5M2: u32 = 16;
pub const TN_DTYPE_COUNT: u32 = 17;
pub const TN_MASK_BOOL: u64 = 1;
pub const TN_MASK_UNSIGNED: u64 = 30;
pub const TN_MASK_SIGNED: u64 = 480;
pub const TN_MASK_INT: u64 = 510;
pub const TN_MASK_HALF: u64 = 1536;
pub const TN_MASK_FLOAT: u64 = 7680;
pub const TN_MASK_COMPLEX: u64 = 24576;
pub const TN_MASK_REAL: u64 = 8190;
pub const TN_MASK_ALL: u64 = 32767;
pub const TN_MASK_F8: u64 = 98304;
pub const TN_FALLBACK_ALLOW: u32 = 0;
pub const TN_FALLBACK_WARN: u32 = 1;
pub const TN_FALLBACK_DENY: u32 = 2;
pub const TN_LAYERS_REVISION: u32 = 1;
pub const TN_CALL_CONTIGUOUS: u32 = 1;
pub const TN_CALL_ANY_DIM: u32 = 2;
pub const TN_KERNEL_STRIDED: u32 = 1;
pub const TN_KERNEL_HOST_SCALARS: u32 = 2;
pub const TN_KERNEL_ANY_DIM: u32 = 4;
pub const TN_OP_PLAIN: u32 = 0;
pub const TN_OP_ELEMENTWISE: u32 = 1;
pub const TN_OP_REDUCE: u32 = 2;
pub const TN_OP_AS_GIVEN: u32 = 0;
pub const TN_OP_COMMON: u32 = 1;
pub const TN_OP_FRACTION: u32 = 2;
pub const TN_MAX_DIMS: usize = 16;
pub const TN_VIEW_SCALAR: u32 = 1;
pub const TN_VIEW_CONTIGUOUS: u32 = 2;
pub const TN_VIEW_RELEASED: u32 = 4;
pub const TN_VALUE_NONE: u32 = 0;
pub const TN_VALUE_BOOL: u32 = 1;
pub const TN_VALUE_INT: u32 = 2;
pub const TN_VALUE_FLOAT: u32 = 3;
pub const TN_VALUE_STR: u32 = 4;
pub const TN_VALUE_INTS: u32 = 5;
pub const TN_VALUE_FLOATS: u32 = 6;
pub const TN_VALUE_TENSOR: u32 = 7;
pub const TN_VALUE_TENSORS: u32 = 8;
pub const TN_VALUE_VIEW: u32 = 9;
pub const TN_VALUE_VIEWS: u32 = 10;
pub const TN_VALUE_DTYPE: u32 = 11;
pub const TN_VALUE_DEVICE: u32 = 12;
pub const TN_VALUE_GENERATOR: u32 = 13;
pub const TN_VALUE_COMPLEX: u32 = 14;

/// Borrowed UTF-8 without a terminating NUL. Whoever passes it says how long it is valid. Frozen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_str {
    pub data: *const c_char,
    pub size: u64,
}

/// Receives text in pieces; `ctx` is the caller's. The library can return text this way without passing ownership. Called on the caller's
/// thread, before the call returns. \[thread-safe\]
pub type tn_write_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, chunk: tn_str)>;

#[repr(C)]
pub struct tn_status {
    _opaque: [u8; 0],
}

pub type tn_dtype = u32;

#[repr(C)]
pub struct tn_tensor {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct tn_device {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct tn_generator {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct tn_op {
    _opaque: [u8; 0],
}

/// A strided array in device memory, as a kernel sees it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_view {
    pub struct_size: u32,
    pub dtype: tn_dtype,
    pub ndim: u32,
    pub flags: u32,
    /// first element, where device memory is addressable; NULL otherwise
    pub data: *mut c_void,
    /// ndim sizes
    pub shape: *const i64,
    /// ndim strides in elements; 0 broadcasts, negative reverses
    pub strides: *const i64,
    /// the plugin's buffer handle
    pub buffer: *mut c_void,
    /// bytes from the start of the buffer to the first element
    pub offset: i64,
    pub scalar: [u8; 16],
}

impl tn_view {
    pub const EMPTY: tn_view = {
        let mut made: tn_view = unsafe { core::mem::transmute([0u64; 72 / 8]) };
        made.struct_size = 72;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union tn_value_as {
    pub i: i64,
    pub f: f64,
    pub str: *const c_char,
    pub ints: *const i64,
    pub floats: *const f64,
    pub tensor: *mut tn_tensor,
    pub tensors: *const *mut tn_tensor,
    pub view: *const tn_view,
    pub views: *const *const tn_view,
    pub device: *mut tn_device,
    pub generator: *mut tn_generator,
    pub pointer: *const c_void,
}

/// One argument: 16 bytes, frozen. What it points at is borrowed for the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_value {
    pub tag: u32,
    pub count: u32,
    pub r#as: tn_value_as,
}

/// Hooks around every call. If off, they cost one predictable branch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_call_hooks {
    pub struct_size: u32,
    pub flags: u32,
    pub ctx: *mut c_void,
    /// Runs before the call; a non-NULL result stops it with that error. Also sees the calls of composite ops. May be NULL. \[thread-safe\]
    pub before: Option<unsafe extern "C" fn(ctx: *mut c_void, op: *const tn_op, args: *const tn_value, nargs: u32) -> *mut tn_status>,
    /// Runs after the kernel was enqueued. `provider` is as in tn_op_provider, or "core" for views, or "layer" for what a layer computed.
    /// May be NULL. \[thread-safe\]
    pub after: Option<unsafe extern "C" fn(ctx: *mut c_void, op: *const tn_op, args: *const tn_value, nargs: u32, outs: *const *mut tn_tensor, nouts: u32, provider: tn_str)>,
}

impl tn_call_hooks {
    pub const EMPTY: tn_call_hooks = {
        let mut made: tn_call_hooks = unsafe { core::mem::transmute([0u64; 32 / 8]) };
        made.struct_size = 32;
        made
    };
}

/// A layer over the calls of a thread, which may compute them instead of the core: autocast, batching, quantisation. Since 1.1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_call_layer {
    pub struct_size: u32,
    pub flags: u32,
    pub ctx: *mut c_void,
    /// Either stores new references in outs\[0..nouts) and sets *done to 1, or leaves the call to the layers below and the core. `args` are
    /// checked and complete. Its own calls go to the layers below and are recorded for gradients as usual. An error ends the call. NULL:
    /// calls pass. \[thread-safe\]
    pub call: Option<unsafe extern "C" fn(ctx: *mut c_void, op: *const tn_op, args: *const tn_value, nargs: u32, outs: *mut *mut tn_tensor, nouts: u32, done: *mut u32) -> *mut tn_status>,
    /// The same for tn_op_call_into: writes into the tensors in `outs`. NULL: such calls pass. \[thread-safe\]
    pub call_into: Option<unsafe extern "C" fn(ctx: *mut c_void, op: *const tn_op, args: *const tn_value, nargs: u32, outs: *const *mut tn_tensor, nouts: u32, done: *mut u32) -> *mut tn_status>,
}

impl tn_call_layer {
    pub const EMPTY: tn_call_layer = {
        let mut made: tn_call_layer = unsafe { core::mem::transmute([0u64; 32 / 8]) };
        made.struct_size = 32;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_offered_layer {
    /// "autocast"
    pub name: tn_str,
    pub layer: *const tn_call_layer,
    /// How far a result under the layer may be from the one without, relative to that one's largest element. 0: same bits. Negative: the
    /// layer changes the meaning (batching), so nothing is compared.
    pub tolerance: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_layers {
    pub struct_size: u32,
    pub flags: u32,
    pub layers: *const tn_offered_layer,
    pub count: u32,
    /// sizeof(tn_offered_layer)
    pub stride: u32,
}

impl tn_layers {
    pub const EMPTY: tn_layers = {
        let mut made: tn_layers = unsafe { core::mem::transmute([0u64; 24 / 8]) };
        made.struct_size = 24;
        made
    };
}

/// Properties of a device. The caller sets struct_size; no field beyond it is filled. Strings live as long as the device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_device_info {
    pub struct_size: u32,
    pub kind: u32,
    /// the hardware's name
    pub name: tn_str,
    /// bytes
    pub memory_total: u64,
    /// bytes, at the time of the call
    pub memory_free: u64,
    pub compute_units: u32,
    /// warp or subgroup width; 1 on a CPU
    pub subgroup_size: u32,
    /// mask
    pub dtypes: u64,
    /// "0000:01:00.0", or empty
    pub pci_id: tn_str,
    /// declared f32 rate, or 0
    pub peak_flops: u64,
}

impl tn_device_info {
    pub const EMPTY: tn_device_info = {
        let mut made: tn_device_info = unsafe { core::mem::transmute([0u64; 80 / 8]) };
        made.struct_size = 80;
        made
    };
}

/// What the caching allocator holds, in bytes and counts.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_memory_stats {
    pub struct_size: u32,
    pub flags: u32,
    /// in live tensors
    pub used: u64,
    pub used_peak: u64,
    /// taken from the device, cached blocks included
    pub held: u64,
    pub held_peak: u64,
    /// calls since the start
    pub allocations: u64,
    /// of those, calls that went to the device
    pub device_allocations: u64,
    /// after out of memory
    pub retries: u64,
    /// 0: none
    pub limit: u64,
}

impl tn_memory_stats {
    pub const EMPTY: tn_memory_stats = {
        let mut made: tn_memory_stats = unsafe { core::mem::transmute([0u64; 72 / 8]) };
        made.struct_size = 72;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_device_table {
    pub struct_size: u32,
    pub flags: u32,
    /// The number of devices; 0 with a reason is not an error. `reason` has static storage. \[init\]
    pub count: Option<unsafe extern "C" fn(this: *mut c_void, count: *mut u32, reason: *mut tn_str) -> *mut tn_status>,
    /// Properties of the device with this index. \[thread-safe\]
    pub info: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, out: *mut tn_device_info) -> *mut tn_status>,
    /// Waits for all work on the device, and reports asynchronous failures. \[thread-safe\]
    pub synchronize: Option<unsafe extern "C" fn(this: *mut c_void, index: u32) -> *mut tn_status>,
}

impl tn_device_table {
    pub const EMPTY: tn_device_table = {
        let mut made: tn_device_table = unsafe { core::mem::transmute([0u64; 32 / 8]) };
        made.struct_size = 32;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_memory_table {
    pub struct_size: u32,
    pub flags: u32,
    /// Allocates memory, aligned to at least 64 bytes; the core caches. *address is NULL if device memory has no address. Errors:
    /// TN_OUT_OF_MEMORY. \[thread-safe\]
    pub allocate: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, bytes: u64, buffer: *mut *mut c_void, address: *mut *mut c_void) -> *mut tn_status>,
    /// Called after the work that uses the buffer has been waited for. \[thread-safe\]
    pub free: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, buffer: *mut c_void)>,
    /// Pinned host memory for transfers; optional. \[thread-safe\]
    pub host_allocate: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, bytes: u64, address: *mut *mut c_void) -> *mut tn_status>,
    /// Frees what host_allocate returned. \[thread-safe\]
    pub host_free: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, address: *mut c_void)>,
    /// Copy bytes. The caller may reuse its host memory when copy_in returns. \[stream-ordered\]
    pub copy_in: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, stream: *mut c_void, src: *const c_void, buffer: *mut c_void, offset: u64, bytes: u64) -> *mut tn_status>,
    /// Complete after synchronize. \[stream-ordered\]
    pub copy_out: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, stream: *mut c_void, buffer: *mut c_void, offset: u64, dst: *mut c_void, bytes: u64) -> *mut tn_status>,
    /// The ranges may overlap. \[stream-ordered\]
    pub copy_within: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, stream: *mut c_void, src: *mut c_void, src_offset: u64, dst: *mut c_void, dst_offset: u64, bytes: u64) -> *mut tn_status>,
    /// Copies between two devices of this type, on the source's stream; optional. \[stream-ordered\]
    pub copy_peer: Option<unsafe extern "C" fn(this: *mut c_void, src_index: u32, src: *mut c_void, src_offset: u64, dst_index: u32, dst: *mut c_void, dst_offset: u64, bytes: u64, stream: *mut c_void) -> *mut tn_status>,
    /// Repeats a pattern of 1, 2, 4 or 8 bytes. \[stream-ordered\]
    pub fill: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, stream: *mut c_void, buffer: *mut c_void, offset: u64, bytes: u64, pattern: *const c_void, pattern_size: u32) -> *mut tn_status>,
}

impl tn_memory_table {
    pub const EMPTY: tn_memory_table = {
        let mut made: tn_memory_table = unsafe { core::mem::transmute([0u64; 80 / 8]) };
        made.struct_size = 80;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_stream_table {
    pub struct_size: u32,
    pub flags: u32,
    /// Creates a queue whose work runs in order. \[thread-safe\]
    pub create: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, stream: *mut *mut c_void) -> *mut tn_status>,
    /// The stream has no work left. \[thread-safe\]
    pub destroy: Option<unsafe extern "C" fn(this: *mut c_void, stream: *mut c_void)>,
    /// Waits for everything enqueued before the call, and reports asynchronous failures. \[thread-safe\]
    pub synchronize: Option<unsafe extern "C" fn(this: *mut c_void, stream: *mut c_void) -> *mut tn_status>,
    /// Creates an event, not recorded yet. \[thread-safe\]
    pub event_create: Option<unsafe extern "C" fn(this: *mut c_void, index: u32, event: *mut *mut c_void) -> *mut tn_status>,
    /// No stream waits for the event. \[thread-safe\]
    pub event_destroy: Option<unsafe extern "C" fn(this: *mut c_void, event: *mut c_void)>,
    /// The event is reached when all earlier work is done. \[stream-ordered\]
    pub event_record: Option<unsafe extern "C" fn(this: *mut c_void, event: *mut c_void, stream: *mut c_void) -> *mut tn_status>,
    /// Later work on the stream waits for the event, which may have been recorded on another stream. \[stream-ordered\]
    pub event_wait: Option<unsafe extern "C" fn(this: *mut c_void, event: *mut c_void, stream: *mut c_void) -> *mut tn_status>,
    /// *done: 1 if the event was reached or never recorded. Does not wait. \[thread-safe\]
    pub event_query: Option<unsafe extern "C" fn(this: *mut c_void, event: *mut c_void, done: *mut u32) -> *mut tn_status>,
    /// Waits until the event is reached. \[thread-safe\]
    pub event_synchronize: Option<unsafe extern "C" fn(this: *mut c_void, event: *mut c_void) -> *mut tn_status>,
    /// The device time between two events that were reached. \[thread-safe\]
    pub event_elapsed: Option<unsafe extern "C" fn(this: *mut c_void, start: *mut c_void, end: *mut c_void, seconds: *mut f64) -> *mut tn_status>,
}

impl tn_stream_table {
    pub const EMPTY: tn_stream_table = {
        let mut made: tn_stream_table = unsafe { core::mem::transmute([0u64; 88 / 8]) };
        made.struct_size = 88;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_device_type {
    pub struct_size: u32,
    pub flags: u32,
    /// "vulkan"; devices are "vulkan:0", …
    pub name: tn_str,
    pub this: *mut c_void,
    pub device: *const tn_device_table,
    pub memory: *const tn_memory_table,
    /// NULL: work is done when a call returns
    pub stream: *const tn_stream_table,
}

impl tn_device_type {
    pub const EMPTY: tn_device_type = {
        let mut made: tn_device_type = unsafe { core::mem::transmute([0u64; 56 / 8]) };
        made.struct_size = 56;
        made
    };
}

#[repr(C)]
pub struct tn_grad_call {
    _opaque: [u8; 0],
}

/// The canonical iteration space of an elementwise or reducing op. Dimensions of size 1 are removed, and dimensions are merged where
/// possible, so contiguous operands of one layout have one dimension. Order of operands: outputs, then tensor inputs in schema order.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_loop {
    pub struct_size: u32,
    /// 0 to TN_MAX_DIMS; 0 means one element
    pub ndim: u32,
    /// the last `reduced` dimensions are reduced; 0 for elementwise ops
    pub reduced: u32,
    pub noperands: u32,
    /// ndim sizes, outermost first
    pub shape: *const i64,
    /// strides\[k\]\[d\] in elements; 0 broadcasts (for an output: a reduced dimension)
    pub strides: *const *const i64,
}

impl tn_loop {
    pub const EMPTY: tn_loop = {
        let mut made: tn_loop = unsafe { core::mem::transmute([0u64; 32 / 8]) };
        made.struct_size = 32;
        made
    };
}

/// A call of a kernel in canonical form: dtypes promoted, shapes broadcast, defaults filled in, outputs allocated. The call and
/// everything it points to live until run returns; the memory of views and scratch stays valid for all work that run enqueues on
/// call->stream. Work on other streams must be joined to it before run returns. A kernel may only write to outputs, scratch and arguments
/// marked '!'.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_call {
    pub struct_size: u32,
    pub flags: u32,
    /// schema order; tensors as TN_VALUE_VIEW, lists as TN_VALUE_VIEWS, absent ones as TN_VALUE_NONE
    pub args: *const tn_value,
    pub nargs: u32,
    pub nouts: u32,
    pub outs: *const *const tn_view,
    /// elementwise and reducing ops; NULL otherwise
    pub r#loop: *const tn_loop,
    /// the plugin's stream; NULL on the host device
    pub stream: *mut c_void,
    /// within the device type
    pub device_index: u32,
    pub reserved: u32,
    /// scratch_size bytes, 64-byte aligned, or NULL
    pub scratch: *mut c_void,
    /// its buffer handle
    pub scratch_buffer: *mut c_void,
    /// the core's; pass it to tn_host.make_output
    pub context: *mut c_void,
}

impl tn_call {
    pub const EMPTY: tn_call = {
        let mut made: tn_call = unsafe { core::mem::transmute([0u64; 80 / 8]) };
        made.struct_size = 80;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_kernel {
    pub struct_size: u32,
    pub flags: u32,
    /// schema with revision, as in the op table: "softmax(Tensor x, int dim) -> Tensor @1"
    pub op: tn_str,
    /// mask for the dtype of the first tensor input (after promotion), or of the output if there is none
    pub dtypes: u64,
    /// of the kernels that support a call, the one with the highest priority runs
    pub priority: i32,
    pub reserved: u32,
    /// Optional. Only reads metadata, and always gives the same answer. \[thread-safe\]
    pub supports: Option<unsafe extern "C" fn(this: *mut c_void, call: *const tn_call, yes: *mut u32) -> *mut tn_status>,
    /// Optional, with release. Makes what only depends on shapes, strides, dtypes and attributes; the core caches these plans.
    /// \[thread-safe\]
    pub prepare: Option<unsafe extern "C" fn(this: *mut c_void, call: *const tn_call, plan: *mut *mut c_void) -> *mut tn_status>,
    /// Optional. Bytes of scratch memory that run needs. \[thread-safe\]
    pub scratch_size: Option<unsafe extern "C" fn(this: *mut c_void, call: *const tn_call, plan: *mut c_void) -> u64>,
    /// Enqueues the work on call->stream and returns. Several threads may run one plan at once. \[stream-ordered\]
    pub run: Option<unsafe extern "C" fn(this: *mut c_void, plan: *mut c_void, call: *const tn_call) -> *mut tn_status>,
    /// Frees a plan that no call uses any more. \[thread-safe\]
    pub release: Option<unsafe extern "C" fn(this: *mut c_void, plan: *mut c_void)>,
    /// first argument of the slots
    pub this: *mut c_void,
}

impl tn_kernel {
    pub const EMPTY: tn_kernel = {
        let mut made: tn_kernel = unsafe { core::mem::transmute([0u64; 88 / 8]) };
        made.struct_size = 88;
        made
    };
}

/// Shape and dtype of one result of a new op. The core sets struct_size, the plugin the rest.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_result {
    pub struct_size: u32,
    pub dtype: tn_dtype,
    pub ndim: u32,
    pub reserved: u32,
    pub shape: [i64; 16],
}

impl tn_result {
    pub const EMPTY: tn_result = {
        let mut made: tn_result = unsafe { core::mem::transmute([0u64; 144 / 8]) };
        made.struct_size = 144;
        made
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_op_def {
    pub struct_size: u32,
    pub flags: u32,
    /// "name(Tensor x, float a=1.0) -> Tensor @1"; names with a dot are reserved for third parties: "acme.swish"
    pub schema: tn_str,
    pub this: *mut c_void,
    /// Fills *results\[0\] to *results\[n - 1\] from the arguments' metadata (views without data). NULL: form and promotion decide; a plain op
    /// is like the first tensor. With another form, results are already filled in, and only their dtype may change. \[thread-safe\]
    pub infer: Option<unsafe extern "C" fn(this: *mut c_void, args: *const tn_value, nargs: u32, results: *const *mut tn_result, nresults: u32) -> *mut tn_status>,
    /// Computes the op with other ops. Without a gradient, the core differentiates this. Optional. \[thread-safe\]
    pub decompose: Option<unsafe extern "C" fn(this: *mut c_void, args: *const tn_value, nargs: u32, outs: *mut *mut tn_tensor, nouts: u32) -> *mut tn_status>,
    /// Sets gradients through the host's grad_* functions, computed with other ops. Optional. \[thread-safe\]
    pub gradient: Option<unsafe extern "C" fn(this: *mut c_void, call: *mut tn_grad_call) -> *mut tn_status>,
    /// mask of arguments that gradient reads
    pub saved_inputs: u64,
    /// mask of results that gradient reads
    pub saved_outputs: u64,
    /// TN_OP_PLAIN, …_ELEMENTWISE, …_REDUCE. Since 1.1
    pub form: u32,
    /// TN_OP_AS_GIVEN, …_COMMON, …_FRACTION. Since 1.1
    pub promotion: u32,
    /// Narrows saved_inputs and saved_outputs, which *inputs and *outputs hold, to what the gradient of this call reads, so that fewer
    /// tensors are kept. `needed`: mask of the arguments that want a gradient. `args` as in decompose. Optional. Since 1.1. \[thread-safe\]
    pub saves: Option<unsafe extern "C" fn(this: *mut c_void, args: *const tn_value, nargs: u32, needed: u64, inputs: *mut u64, outputs: *mut u64)>,
    /// The number of entries in the last result, if the schema says it is a list ("-> Tensor\[\] parts"). Everywhere, the other results come
    /// first and the entries follow; in saved_outputs they share one bit. `args` as in infer. Since 1.1. \[thread-safe\]
    pub count: Option<unsafe extern "C" fn(this: *mut c_void, args: *const tn_value, nargs: u32, entries: *mut u32) -> *mut tn_status>,
}

impl tn_op_def {
    pub const EMPTY: tn_op_def = {
        let mut made: tn_op_def = unsafe { core::mem::transmute([0u64; 96 / 8]) };
        made.struct_size = 96;
        made
    };
}

/// ---- The host's table ---------------------------------------------------------------------------------------------------
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_host {
    pub struct_size: u32,
    pub flags: u32,
    pub abi_major: u32,
    pub abi_minor: u32,
    /// The host makes statuses, so they outlive the plugin. \[thread-safe\]
    pub make_status: Option<unsafe extern "C" fn(code: u32, message: tn_str) -> *mut tn_status>,
    /// TN_OK for NULL. \[thread-safe\]
    pub status_code: Option<unsafe extern "C" fn(status: *const tn_status) -> u32>,
    /// Valid until the status is released; empty for NULL. \[thread-safe\]
    pub status_message: Option<unsafe extern "C" fn(status: *const tn_status) -> tn_str>,
    /// For a status from another slot of this table; NULL is allowed. \[thread-safe\]
    pub status_release: Option<unsafe extern "C" fn(status: *mut tn_status)>,
    /// level 0 debug, 1 info, 2 warning, 3 error. \[thread-safe\]
    pub log: Option<unsafe extern "C" fn(level: u32, message: tn_str)>,
    /// Registration, during start. `plugin` is the token that start received. Tables are copied. \[init\]
    pub register_device_type: Option<unsafe extern "C" fn(plugin: *mut c_void, r#type: *const tn_device_type) -> *mut tn_status>,
    /// Kernels for the devices named `device` ("cpu" for the host's). `stride` is sizeof(tn_kernel). Registers all or none; the error names
    /// the kernel. A kernel for a third party's op ("acme.swish") may come before that op: it waits. \[init\]
    pub register_kernels: Option<unsafe extern "C" fn(plugin: *mut c_void, device: tn_str, kernels: *const tn_kernel, count: u32, stride: u32) -> *mut tn_status>,
    /// A new op, available once start has succeeded. Results "()": it only writes to arguments ("Tensor! x"). \[init\]
    pub register_op: Option<unsafe extern "C" fn(plugin: *mut c_void, op: *const tn_op_def) -> *mut tn_status>,
    /// For a kernel whose output shape depends on data: allocates output `index`. *out lives as long as the call. \[thread-safe\]
    pub make_output: Option<unsafe extern "C" fn(call: *const tn_call, index: u32, ndim: u32, shape: *const i64, out: *mut *const tn_view) -> *mut tn_status>,
    /// Ops and tensors, for decompositions and gradients: as tn_op_find and its like. \[thread-safe\]
    pub op_find: Option<unsafe extern "C" fn(name: tn_str) -> *const tn_op>,
    /// As tn_op_call. \[thread-safe\]
    pub op_call: Option<unsafe extern "C" fn(op: *const tn_op, args: *const tn_value, nargs: u32, outs: *mut *mut tn_tensor, nouts: u32) -> *mut tn_status>,
    /// As tn_tensor_retain. \[thread-safe\]
    pub tensor_retain: Option<unsafe extern "C" fn(tensor: *mut tn_tensor) -> *mut tn_tensor>,
    /// As tn_tensor_release. \[thread-safe\]
    pub tensor_release: Option<unsafe extern "C" fn(tensor: *mut tn_tensor)>,
    /// As tn_tensor_view. \[thread-safe\]
    pub tensor_view: Option<unsafe extern "C" fn(tensor: *const tn_tensor) -> *const tn_view>,
    /// For tn_op_def.gradient, on its thread. Results are borrowed and valid during the callback; NULL if there is none. The gradient of a
    /// result. \[thread-safe\]
    pub grad_output: Option<unsafe extern "C" fn(call: *mut tn_grad_call, result: u32) -> *mut tn_tensor>,
    /// An argument in saved_inputs. \[thread-safe\]
    pub grad_saved_input: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32) -> *mut tn_tensor>,
    /// A result in saved_outputs. \[thread-safe\]
    pub grad_saved_output: Option<unsafe extern "C" fn(call: *mut tn_grad_call, result: u32) -> *mut tn_tensor>,
    /// An attribute, as the caller gave it. \[thread-safe\]
    pub grad_arg: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32) -> *const tn_value>,
    /// 1 if the argument wants a gradient. \[thread-safe\]
    pub grad_needed: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32) -> u32>,
    /// Sets the gradient of an argument; takes its own reference. \[thread-safe\]
    pub grad_set: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32, grad: *mut tn_tensor) -> *mut tn_status>,
    /// Optional interfaces of the host by name and revision; NULL if there is none. \[thread-safe\]
    pub get_interface: Option<unsafe extern "C" fn(name: tn_str, revision: u32) -> *const c_void>,
    /// As tn_op_call_into. Since 1.1. \[thread-safe\]
    pub op_call_into: Option<unsafe extern "C" fn(op: *const tn_op, args: *const tn_value, nargs: u32, outs: *const *mut tn_tensor, nouts: u32) -> *mut tn_status>,
    /// As tn_call_layer_push. Since 1.1. \[thread-safe\]
    pub call_layer_push: Option<unsafe extern "C" fn(layer: *const tn_call_layer) -> *mut tn_status>,
    /// As tn_call_layer_pop. Since 1.1. \[thread-safe\]
    pub call_layer_pop: Option<unsafe extern "C" fn(layer: *const tn_call_layer) -> *mut tn_status>,
    /// As tn_backward_on_end. Since 1.1. \[thread-safe\]
    pub backward_on_end: Option<unsafe extern "C" fn(done: Option<unsafe extern "C" fn(ctx: *mut c_void) -> *mut tn_status>, ctx: *mut c_void, destroy: Option<unsafe extern "C" fn(ctx: *mut c_void)>) -> *mut tn_status>,
    /// As tn_plugin_interface: an interface of another plugin. Since 1.1. \[thread-safe\]
    pub plugin_interface: Option<unsafe extern "C" fn(id: tn_str, name: tn_str, revision: u32, out: *mut *const c_void) -> *mut tn_status>,
    /// As tn_op_result_count. Since 1.1. \[thread-safe\]
    pub op_result_count: Option<unsafe extern "C" fn(op: *const tn_op, args: *const tn_value, nargs: u32, out: *mut u32) -> *mut tn_status>,
    /// For tn_op_def.gradient: the number of results of the call, counting the entries of a list. Since 1.1. \[thread-safe\]
    pub grad_result_count: Option<unsafe extern "C" fn(call: *mut tn_grad_call) -> u32>,
    /// The number of entries in a list of tensors; 1 for a tensor, 0 for anything else. Since 1.1. \[thread-safe\]
    pub grad_entry_count: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32) -> u32>,
    /// As grad_saved_input, for an entry of a list. Since 1.1. \[thread-safe\]
    pub grad_saved_entry: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32, entry: u32) -> *mut tn_tensor>,
    /// As grad_needed, for an entry of a list. Since 1.1. \[thread-safe\]
    pub grad_entry_needed: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32, entry: u32) -> u32>,
    /// As grad_set, for an entry of a list. Since 1.1. \[thread-safe\]
    pub grad_set_entry: Option<unsafe extern "C" fn(call: *mut tn_grad_call, arg: u32, entry: u32, grad: *mut tn_tensor) -> *mut tn_status>,
    /// As tn_storage_track. Since 1.1. \[thread-safe\]
    pub storage_track: Option<unsafe extern "C" fn(tensor: *mut tn_tensor) -> *mut tn_status>,
    /// As tn_storage_release. Since 1.1. \[thread-safe\]
    pub storage_release: Option<unsafe extern "C" fn(tensor: *mut tn_tensor) -> *mut tn_status>,
    /// As tn_storage_restore. Since 1.1. \[thread-safe\]
    pub storage_restore: Option<unsafe extern "C" fn(tensor: *mut tn_tensor, fill: Option<unsafe extern "C" fn(ctx: *mut c_void, tensor: *mut tn_tensor) -> *mut tn_status>, ctx: *mut c_void) -> *mut tn_status>,
}

impl tn_host {
    pub const EMPTY: tn_host = {
        let mut made: tn_host = unsafe { core::mem::transmute([0u64; 296 / 8]) };
        made.struct_size = 296;
        made
    };
}

/// ---- Entry --------------------------------------------------------------------------------------------------------------
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tn_plugin {
    pub struct_size: u32,
    /// what it was built for
    pub abi_major: u32,
    pub abi_minor: u32,
    /// refuses older hosts
    pub min_host_minor: u32,
    /// "cpu"; third parties use reverse DNS
    pub id: tn_str,
    pub version: tn_str,
    /// `plugin` is the token for registration; `directory`, valid during the call, contains the library. \[init\]
    pub start: Option<unsafe extern "C" fn(host: *const tn_host, plugin: *mut c_void, directory: tn_str, state: *mut *mut c_void) -> *mut tn_status>,
    /// No further call will come in; waits for what is running. \[init\]
    pub quiesce: Option<unsafe extern "C" fn(state: *mut c_void) -> *mut tn_status>,
    /// Frees `state`. Nothing of the plugin is called until it is started again. \[init\]
    pub stop: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Optional interfaces of the plugin ("tn.layers", "tn.collective", "tn.profiler"); NULL if there is none. \[thread-safe\]
    pub get_interface: Option<unsafe extern "C" fn(state: *mut c_void, name: tn_str, revision: u32) -> *const c_void>,
}

impl tn_plugin {
    pub const EMPTY: tn_plugin = {
        let mut made: tn_plugin = unsafe { core::mem::transmute([0u64; 80 / 8]) };
        made.struct_size = 80;
        made
    };
}

/// The only symbol a plugin exports: pure, repeatable, callable before anything is started. *out has static storage. It cannot make a
/// status yet, so it returns NULL; a plugin that cannot run here says why in start. \[thread-safe\]
pub type tn_plugin_query_fn = Option<unsafe extern "C" fn(host_major: u32, host_minor: u32, out: *mut *const tn_plugin) -> *mut tn_status>;

const _: () = assert!(core::mem::size_of::<tn_str>() == 16 && core::mem::align_of::<tn_str>() == 8);
const _: () = assert!(core::mem::size_of::<tn_view>() == 72 && core::mem::align_of::<tn_view>() == 8);
const _: () = assert!(core::mem::size_of::<tn_value>() == 16 && core::mem::align_of::<tn_value>() == 8);
const _: () = assert!(core::mem::size_of::<tn_call_hooks>() == 32 && core::mem::align_of::<tn_call_hooks>() == 8);
const _: () = assert!(core::mem::size_of::<tn_call_layer>() == 32 && core::mem::align_of::<tn_call_layer>() == 8);
const _: () = assert!(core::mem::size_of::<tn_offered_layer>() == 32 && core::mem::align_of::<tn_offered_layer>() == 8);
const _: () = assert!(core::mem::size_of::<tn_layers>() == 24 && core::mem::align_of::<tn_layers>() == 8);
const _: () = assert!(core::mem::size_of::<tn_device_info>() == 80 && core::mem::align_of::<tn_device_info>() == 8);
const _: () = assert!(core::mem::size_of::<tn_memory_stats>() == 72 && core::mem::align_of::<tn_memory_stats>() == 8);
const _: () = assert!(core::mem::size_of::<tn_device_table>() == 32 && core::mem::align_of::<tn_device_table>() == 8);
const _: () = assert!(core::mem::size_of::<tn_memory_table>() == 80 && core::mem::align_of::<tn_memory_table>() == 8);
const _: () = assert!(core::mem::size_of::<tn_stream_table>() == 88 && core::mem::align_of::<tn_stream_table>() == 8);
const _: () = assert!(core::mem::size_of::<tn_device_type>() == 56 && core::mem::align_of::<tn_device_type>() == 8);
const _: () = assert!(core::mem::size_of::<tn_loop>() == 32 && core::mem::align_of::<tn_loop>() == 8);
const _: () = assert!(core::mem::size_of::<tn_call>() == 80 && core::mem::align_of::<tn_call>() == 8);
const _: () = assert!(core::mem::size_of::<tn_kernel>() == 88 && core::mem::align_of::<tn_kernel>() == 8);
const _: () = assert!(core::mem::size_of::<tn_result>() == 144 && core::mem::align_of::<tn_result>() == 8);
const _: () = assert!(core::mem::size_of::<tn_op_def>() == 96 && core::mem::align_of::<tn_op_def>() == 8);
const _: () = assert!(core::mem::size_of::<tn_host>() == 296 && core::mem::align_of::<tn_host>() == 8);
const _: () = assert!(core::mem::size_of::<tn_plugin>() == 80 && core::mem::align_of::<tn_plugin>() == 8);
