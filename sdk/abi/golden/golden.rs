//! The backend of golden.c in Rust, through sdk/rust/tenon.rs.
#[path = "../headers/1.0/rust/tenon.rs"]
mod tenon;

use std::alloc::{alloc, dealloc, Layout};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;
use std::time::Instant;
use tenon::abi::*;
use tenon::*;

const NAME: &str = "golden_rust";

// ---- Devices and memory

unsafe extern "C" fn count(_: *mut c_void, devices: *mut u32, _: *mut tn_str) -> Status {
    *devices = 1;
    OK
}
unsafe extern "C" fn info(_: *mut c_void, _: u32, out: *mut tn_device_info) -> Status {
    (*out).kind = TN_DEVICE_KIND_OTHER;
    (*out).name = str("Golden device");
    (*out).memory_total = 1 << 30;
    (*out).memory_free = 1 << 30;
    (*out).compute_units = 1;
    (*out).subgroup_size = 1;
    (*out).dtypes = TN_MASK_ALL;
    OK
}
unsafe extern "C" fn synchronize(_: *mut c_void, _: u32) -> Status {
    OK
}

static SIZES: Mutex<Option<HashMap<usize, Layout>>> = Mutex::new(None);

unsafe extern "C" fn allocate(_: *mut c_void, _: u32, bytes: u64, buffer: *mut *mut c_void, address: *mut *mut c_void) -> Status {
    guard(|| {
        let layout = Layout::from_size_align(bytes.max(1) as usize, 64).map_err(|e| error(TN_OUT_OF_MEMORY, e.to_string()))?;
        let block = alloc(layout);
        if block.is_null() {
            return Err(error(TN_OUT_OF_MEMORY, "no memory left"));
        }
        SIZES.lock().unwrap().get_or_insert_with(HashMap::new).insert(block as usize, layout);
        *buffer = block as *mut c_void;
        *address = *buffer;
        Ok(())
    })
}
unsafe extern "C" fn release(_: *mut c_void, _: u32, buffer: *mut c_void) {
    guard(|| {
        let layout = SIZES.lock().unwrap().as_mut().unwrap().remove(&(buffer as usize)).unwrap();
        dealloc(buffer as *mut u8, layout);
        Ok(())
    });
}
unsafe fn at(buffer: *mut c_void, offset: u64) -> *mut u8 {
    (buffer as *mut u8).add(offset as usize)
}
unsafe extern "C" fn copy_in(_: *mut c_void, _: u32, _: *mut c_void, src: *const c_void, buffer: *mut c_void, offset: u64, bytes: u64) -> Status {
    std::ptr::copy(src as *const u8, at(buffer, offset), bytes as usize);
    OK
}
unsafe extern "C" fn copy_out(_: *mut c_void, _: u32, _: *mut c_void, buffer: *mut c_void, offset: u64, dst: *mut c_void, bytes: u64) -> Status {
    std::ptr::copy(at(buffer, offset), dst as *mut u8, bytes as usize);
    OK
}
unsafe extern "C" fn copy_within(
    _: *mut c_void, _: u32, _: *mut c_void, src: *mut c_void, src_offset: u64, dst: *mut c_void, dst_offset: u64, bytes: u64,
) -> Status {
    std::ptr::copy(at(src, src_offset), at(dst, dst_offset), bytes as usize);
    OK
}
unsafe extern "C" fn fill(
    _: *mut c_void, _: u32, _: *mut c_void, buffer: *mut c_void, offset: u64, bytes: u64, pattern: *const c_void, size: u32,
) -> Status {
    for i in (0..bytes).step_by(size as usize) {
        std::ptr::copy(pattern as *const u8, at(buffer, offset + i), size as usize);
    }
    OK
}

// ---- Streams: work is done when it is enqueued, so an event is a time.

unsafe extern "C" fn make_time(_: *mut c_void, _: u32, made: *mut *mut c_void) -> Status {
    *made = Box::into_raw(Box::new(Instant::now())) as *mut c_void;
    OK
}
unsafe extern "C" fn free_time(_: *mut c_void, made: *mut c_void) {
    drop(Box::from_raw(made as *mut Instant));
}
unsafe extern "C" fn wait_time(_: *mut c_void, _: *mut c_void) -> Status {
    OK
}
unsafe extern "C" fn event_record(_: *mut c_void, event: *mut c_void, _: *mut c_void) -> Status {
    *(event as *mut Instant) = Instant::now();
    OK
}
unsafe extern "C" fn event_wait(_: *mut c_void, _: *mut c_void, _: *mut c_void) -> Status {
    OK
}
unsafe extern "C" fn event_query(_: *mut c_void, _: *mut c_void, done: *mut u32) -> Status {
    *done = 1;
    OK
}
unsafe extern "C" fn event_elapsed(_: *mut c_void, start: *mut c_void, end: *mut c_void, seconds: *mut f64) -> Status {
    *seconds = (*(end as *mut Instant)).duration_since(*(start as *mut Instant)).as_secs_f64();
    OK
}

static DEVICES: Table<tn_device_table> =
    Table(tn_device_table { count: Some(count), info: Some(info), synchronize: Some(synchronize), ..tn_device_table::EMPTY });
static MEMORY: Table<tn_memory_table> = Table(tn_memory_table {
    allocate: Some(allocate),
    free: Some(release),
    copy_in: Some(copy_in),
    copy_out: Some(copy_out),
    copy_within: Some(copy_within),
    fill: Some(fill),
    ..tn_memory_table::EMPTY
});
static STREAMS: Table<tn_stream_table> = Table(tn_stream_table {
    create: Some(make_time),
    destroy: Some(free_time),
    synchronize: Some(wait_time),
    event_create: Some(make_time),
    event_destroy: Some(free_time),
    event_record: Some(event_record),
    event_wait: Some(event_wait),
    event_query: Some(event_query),
    event_synchronize: Some(wait_time),
    event_elapsed: Some(event_elapsed),
    ..tn_stream_table::EMPTY
});

// ---- Kernels

trait Number: Copy + Default + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {}
impl Number for f32 {}
impl Number for f64 {}

unsafe extern "C" fn add<T: Number>(_: *mut c_void, _: *mut c_void, call: *const tn_call) -> Status {
    guard(|| Ok(map2::<T>(Call(&*call), |x, y| x + y)))
}
unsafe extern "C" fn mul<T: Number>(_: *mut c_void, _: *mut c_void, call: *const tn_call) -> Status {
    guard(|| Ok(map2::<T>(Call(&*call), |x, y| x * y)))
}
unsafe extern "C" fn matmul<T: Number>(_: *mut c_void, _: *mut c_void, call: *const tn_call) -> Status {
    guard(|| {
        let call = Call(&*call);
        let (x, y) = (call.input(0), call.input(1));
        let (n, k, m) = (shape(x)[0] as usize, shape(x)[1] as usize, shape(y)[1] as usize);
        let (a, b, out) = (elements::<T>(x), elements::<T>(y), elements_mut::<T>(call.out(0)));
        for i in 0..n {
            for j in 0..m {
                let mut sum = T::default();
                for l in 0..k {
                    sum = sum + a[i * k + l] * b[l * m + j];
                }
                out[i * m + j] = sum;
            }
        }
        Ok(())
    })
}
unsafe extern "C" fn has_elements(_: *mut c_void, call: *const tn_call, yes: *mut u32) -> Status {
    *yes = (numel(Call(&*call).out(0)) != 0) as u32;
    OK
}
unsafe extern "C" fn has_matrices(_: *mut c_void, call: *const tn_call, yes: *mut u32) -> Status {
    *yes = (Call(&*call).input(0).ndim == 2 && Call(&*call).input(1).ndim == 2) as u32;
    OK
}

fn kernels<T: Number>(dtype: u32) -> [tn_kernel; 3] {
    let dtypes = 1u64 << dtype;
    let flags = TN_KERNEL_STRIDED;
    let (some, matrices) = (Some(has_elements as _), Some(has_matrices as _));
    let op = |schema| str(schema);
    [
        tn_kernel { op: op("add(Tensor x, Tensor y) -> Tensor @1"), flags, dtypes, supports: some, run: Some(add::<T>), ..tn_kernel::EMPTY },
        tn_kernel { op: op("mul(Tensor x, Tensor y) -> Tensor @1"), flags, dtypes, supports: some, run: Some(mul::<T>), ..tn_kernel::EMPTY },
        tn_kernel { op: op("matmul(Tensor x, Tensor y) -> Tensor @1"), dtypes, supports: matrices, run: Some(matmul::<T>), ..tn_kernel::EMPTY },
    ]
}

// ---- A new op: blend(x, y) = x + y²; a shape rule that can refuse.

unsafe extern "C" fn infer(_: *mut c_void, args: *const tn_value, _: u32, results: *const *mut tn_result, _: u32) -> Status {
    guard(|| {
        let x = &*(*args).r#as.view;
        if x.ndim != 1 {
            return Err(error(TN_INVALID_ARGUMENT, "blend takes vectors"));
        }
        let result = &mut **results;
        result.dtype = x.dtype;
        result.ndim = 1;
        result.shape[0] = *x.shape;
        Ok(())
    })
}
unsafe extern "C" fn decompose(_: *mut c_void, args: *const tn_value, _: u32, outs: *mut *mut tn_tensor, _: u32) -> Status {
    guard(|| {
        let (x, y) = ((*args).r#as.tensor, (*args.add(1)).r#as.tensor);
        let square = call_op("mul", &[y, y])?;
        *outs = call_op("add", &[x, square.get()])?.into_raw();
        Ok(())
    })
}
unsafe extern "C" fn gradient(_: *mut c_void, call: *mut tn_grad_call) -> Status {
    guard(|| {
        let grad = host().grad_output.unwrap()(call, 0);
        let y = host().grad_saved_input.unwrap()(call, 1);
        if host().grad_needed.unwrap()(call, 0) != 0 {
            check(host().grad_set.unwrap()(call, 0, grad))?;
        }
        if host().grad_needed.unwrap()(call, 1) != 0 {
            let twice = call_op("add", &[y, y])?;
            let result = call_op("mul", &[twice.get(), grad])?;
            check(host().grad_set.unwrap()(call, 1, result.get()))?;
        }
        Ok(())
    })
}

fn start(registry: &Registry) -> Result<(), Error> {
    registry.device_type(&tn_device_type {
        name: str(NAME),
        device: &DEVICES.0,
        memory: &MEMORY.0,
        stream: &STREAMS.0,
        ..tn_device_type::EMPTY
    })?;
    registry.kernels(NAME, &kernels::<f32>(TN_DTYPE_F32))?;
    registry.kernels(NAME, &kernels::<f64>(TN_DTYPE_F64))?;
    registry.op(&tn_op_def {
        schema: str("golden_rust.blend(Tensor x, Tensor y) -> Tensor @1"),
        infer: Some(infer),
        decompose: Some(decompose),
        gradient: Some(gradient),
        saved_inputs: 2,
        ..tn_op_def::EMPTY
    })
}

tenon_plugin!("org.example.golden_rust", "1.0", start);
