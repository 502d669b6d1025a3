//! A backend that owns memory and computes nothing: each op runs on the host, on copies. Replace the bodies below by calls to your
//! device; then add kernels, and each one makes it faster. An error or a panic inside `guard` becomes a status of the op.
mod tenon;

use std::alloc::{alloc, dealloc, Layout};
use std::ffi::c_void;
use tenon::abi::*;
use tenon::*;

// ---- Devices: how many there are, and what they are. [any thread]

unsafe extern "C" fn count(_: *mut c_void, devices: *mut u32, _reason: *mut tn_str) -> Status {
    *devices = 1; // 0 with a reason where the hardware or its driver is missing
    OK
}

unsafe extern "C" fn info(_: *mut c_void, _index: u32, out: *mut tn_device_info) -> Status {
    (*out).kind = TN_DEVICE_KIND_OTHER;
    (*out).name = str("Template device");
    (*out).memory_total = 1 << 30;
    (*out).memory_free = 1 << 30;
    (*out).compute_units = 1;
    (*out).subgroup_size = 1;
    (*out).dtypes = (1 << TN_DTYPE_COUNT) - 1;
    OK
}

unsafe extern "C" fn synchronize(_: *mut c_void, _index: u32) -> Status {
    OK // wait here, if work goes on after a call has returned
}

// ---- Memory: raw blocks, which the core caches, and copies of bytes. The host never touches the address; kernels get it as
// view.data. Leave it null where memory has no address.

struct Block {
    data: *mut u8,
    layout: Layout,
}

unsafe extern "C" fn allocate(
    _: *mut c_void,
    _index: u32,
    bytes: u64,
    buffer: *mut *mut c_void,
    address: *mut *mut c_void,
) -> Status {
    guard(|| {
        let layout = Layout::from_size_align(bytes.max(1) as usize, 64)
            .map_err(|_| error(TN_OUT_OF_MEMORY, format!("a block of {} bytes is too large", bytes)))?;
        let data = alloc(layout);
        if data.is_null() {
            return Err(error(TN_OUT_OF_MEMORY, format!("the device has no {} bytes left", bytes)));
        }
        *buffer = Box::into_raw(Box::new(Block { data, layout })) as *mut c_void;
        *address = data as *mut c_void;
        Ok(())
    })
}

unsafe extern "C" fn free(_: *mut c_void, _index: u32, buffer: *mut c_void) {
    let block = Box::from_raw(buffer as *mut Block);
    dealloc(block.data, block.layout);
}

unsafe fn at(buffer: *mut c_void, offset: u64) -> *mut u8 {
    (*(buffer as *mut Block)).data.add(offset as usize)
}

unsafe extern "C" fn copy_in(
    _: *mut c_void,
    _index: u32,
    _stream: *mut c_void,
    from: *const c_void,
    buffer: *mut c_void,
    offset: u64,
    bytes: u64,
) -> Status {
    std::ptr::copy_nonoverlapping(from as *const u8, at(buffer, offset), bytes as usize);
    OK
}

unsafe extern "C" fn copy_out(
    _: *mut c_void,
    _index: u32,
    _stream: *mut c_void,
    buffer: *mut c_void,
    offset: u64,
    to: *mut c_void,
    bytes: u64,
) -> Status {
    std::ptr::copy_nonoverlapping(at(buffer, offset), to as *mut u8, bytes as usize);
    OK
}

unsafe extern "C" fn copy_within(
    _: *mut c_void,
    _index: u32,
    _stream: *mut c_void,
    from: *mut c_void,
    from_offset: u64,
    to: *mut c_void,
    to_offset: u64,
    bytes: u64,
) -> Status {
    std::ptr::copy(at(from, from_offset), at(to, to_offset), bytes as usize);
    OK
}

static DEVICE: Table<tn_device_table> = Table(tn_device_table {
    count: Some(count),
    info: Some(info),
    synchronize: Some(synchronize),
    ..tn_device_table::EMPTY
});
static MEMORY: Table<tn_memory_table> = Table(tn_memory_table {
    allocate: Some(allocate),
    free: Some(free),
    copy_in: Some(copy_in),
    copy_out: Some(copy_out),
    copy_within: Some(copy_within),
    ..tn_memory_table::EMPTY
});

// ---- Kernels. The lines that start with "//+" are your first one: remove the marks.

//+ unsafe extern "C" fn relu(_: *mut c_void, _plan: *mut c_void, call: *const tn_call) -> Status {
//+     let (x, y) = (Call(&*call).input(0), Call(&*call).out(0));
//+     let (from, to) = (x.data as *const f32, y.data as *mut f32);
//+     (0..numel(y) as usize).for_each(|i| *to.add(i) = if *from.add(i) < 0.0 { 0.0 } else { *from.add(i) });
//+     OK
//+ }

// ---- Entry. The core supplies defaults for whatever a table leaves out.

fn start(registry: &Registry) -> Result<(), Error> {
    registry.device_type(&tn_device_type {
        name: str("template"),
        device: &DEVICE.0,
        memory: &MEMORY.0,
        ..tn_device_type::EMPTY
    })?;
    //+ let (op, dtypes) = (str("relu(Tensor x) -> Tensor @1"), 1 << TN_DTYPE_F32);
    //+ let (run, supports): (_, _) = (Some(relu as _), Some(supports_dense as _));
    //+ registry.kernels("template", &[tn_kernel { op, dtypes, supports, run, ..tn_kernel::EMPTY }])?;
    Ok(())
}

tenon_plugin!("org.example.template", "0.1.0", start);
