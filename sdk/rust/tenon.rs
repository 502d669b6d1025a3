//! Rust over the C ABI of Tenon: the host's table, statuses, a barrier for panics, and the entry of a plugin.
//!
//! Copy this file and abi.rs into `src/` and write `mod tenon;`. `tenon::abi` mirrors the C headers; what is here saves typing.
//! A `cdylib` exports `tn_plugin_query` alone, and two plugins in one process share nothing.
#![allow(dead_code)]

#[path = "abi.rs"]
pub mod abi;

use abi::*;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// NULL is success; made by the host, which owns it.
pub type Status = *mut tn_status;
pub const OK: Status = std::ptr::null_mut();

/// Tables lie in statics; what their pointers point at is never written.
pub struct Table<T>(pub T);
unsafe impl<T> Sync for Table<T> {}

pub const fn str(text: &'static str) -> tn_str {
    tn_str { data: text.as_ptr(), size: text.len() as u64 }
}

/// What the host passed, for as long as the call.
pub unsafe fn text<'a>(from: tn_str) -> &'a str {
    if from.data.is_null() {
        return "";
    }
    std::str::from_utf8(std::slice::from_raw_parts(from.data, from.size as usize)).unwrap_or("")
}

// ---- The host ----------------------------------------------------------------------------------------------------------

static mut HOST: Table<tn_host> = Table(tn_host::EMPTY);

/// Copies the host's table, which may be of another minor version; slots that it lacks stay None. [init]
pub unsafe fn adopt_host(from: *const tn_host) {
    let bytes = std::mem::size_of::<tn_host>().min((*from).struct_size as usize);
    std::ptr::copy_nonoverlapping(from as *const u8, std::ptr::addr_of_mut!(HOST.0) as *mut u8, bytes);
}

/// The host's table; unwrap() of a slot that an older host lacks ends at the barrier as a status.
pub fn host() -> &'static tn_host {
    unsafe { &*std::ptr::addr_of!(HOST.0) }
}

// ---- Errors ------------------------------------------------------------------------------------------------------------

#[derive(Debug)]
pub struct Error {
    pub code: u32,
    pub message: String,
}

pub fn error(code: u32, message: impl Into<String>) -> Error {
    Error { code, message: message.into() }
}

fn status_of(error: &Error) -> Status {
    let message = tn_str { data: error.message.as_ptr(), size: error.message.len() as u64 };
    unsafe { host().make_status.unwrap()(error.code, message) }
}

/// What a status of the host reports, as a Result; frees it.
pub fn check(status: Status) -> Result<(), Error> {
    if status.is_null() {
        return Ok(());
    }
    unsafe {
        let found = error(host().status_code.unwrap()(status), text(host().status_message.unwrap()(status)));
        host().status_release.unwrap()(status);
        Err(found)
    }
}

/// Runs a body and turns an error or a panic into a status: no panic leaves a plugin.
pub fn guard(body: impl FnOnce() -> Result<(), Error>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OK,
        Ok(Err(found)) => status_of(&found),
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().map(|s| s.to_string());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
            status_of(&error(TN_INTERNAL, format!("panic: {}", said.unwrap_or_default())))
        }
    }
}

// ---- A kernel's call ---------------------------------------------------------------------------------------------------

/// The arguments of a call, by their positions in the schema.
#[derive(Clone, Copy)]
pub struct Call<'a>(pub &'a tn_call);

impl<'a> Call<'a> {
    pub unsafe fn out(self, k: usize) -> &'a tn_view {
        &**self.0.outs.add(k)
    }
    pub unsafe fn arg(self, i: usize) -> &'a tn_value {
        &*self.0.args.add(i)
    }
    pub unsafe fn input(self, i: usize) -> &'a tn_view {
        &*self.arg(i).r#as.view
    }
    pub unsafe fn iteration(self) -> Option<&'a tn_loop> {
        self.0.r#loop.as_ref()
    }
}

pub unsafe fn shape<'a>(view: &'a tn_view) -> &'a [i64] {
    slice(view.shape, view.ndim as usize)
}

/// A slice also where C passes NULL for nothing.
pub unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(data, count)
}

pub unsafe fn numel(view: &tn_view) -> i64 {
    shape(view).iter().product()
}

/// The elements of a contiguous view.
pub unsafe fn elements<'a, T>(view: &'a tn_view) -> &'a [T] {
    slice(view.data as *const T, numel(view) as usize)
}
pub unsafe fn elements_mut<'a, T>(view: &'a tn_view) -> &'a mut [T] {
    if numel(view) == 0 {
        return &mut [];
    }
    std::slice::from_raw_parts_mut(view.data as *mut T, numel(view) as usize)
}

/// out[…] = f(x[…], y[…]) over the loop of an elementwise call, with any strides.
pub unsafe fn map2<T: Copy>(call: Call, f: impl Fn(T, T) -> T) {
    let space = call.iteration().expect("an elementwise call");
    let sizes = slice(space.shape, space.ndim as usize);
    let data = [call.out(0).data, call.input(0).data, call.input(1).data];
    let total: i64 = sizes.iter().product();
    for element in 0..total {
        let (mut rest, mut at) = (element, [0i64; 3]);
        for d in (0..sizes.len()).rev() {
            let index = rest % sizes[d];
            rest /= sizes[d];
            for k in 0..3 {
                at[k] += index * *(*space.strides.add(k)).add(d);
            }
        }
        let read = |k: usize| *(data[k] as *const T).offset(at[k] as isize);
        *(data[0] as *mut T).offset(at[0] as isize) = f(read(1), read(2));
    }
}

// ---- Tensors, for ops of one's own -------------------------------------------------------------------------------------

/// A reference that is dropped with it.
pub struct Tensor(*mut tn_tensor);

impl Tensor {
    pub unsafe fn own(from: *mut tn_tensor) -> Tensor {
        Tensor(from)
    }
    pub fn get(&self) -> *mut tn_tensor {
        self.0
    }
    /// The reference, no longer dropped here.
    pub fn into_raw(self) -> *mut tn_tensor {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }
}
impl Drop for Tensor {
    fn drop(&mut self) {
        if let Some(release) = host().tensor_release {
            unsafe { release(self.0) }
        }
    }
}

/// Calls an op of one result with tensors.
pub unsafe fn call_op(name: &str, tensors: &[*mut tn_tensor]) -> Result<Tensor, Error> {
    let args: Vec<tn_value> =
        tensors.iter().map(|t| tn_value { tag: TN_VALUE_TENSOR, count: 0, r#as: tn_value_as { tensor: *t } }).collect();
    let op = host().op_find.unwrap()(tn_str { data: name.as_ptr(), size: name.len() as u64 });
    if op.is_null() {
        return Err(error(TN_NOT_FOUND, format!("no op \"{}\"", name)));
    }
    let mut out: *mut tn_tensor = std::ptr::null_mut();
    check(host().op_call.unwrap()(op, args.as_ptr(), args.len() as u32, &mut out, 1))?;
    Ok(Tensor::own(out))
}

// ---- Registration and entry --------------------------------------------------------------------------------------------

/// What a start function registers through. [init]
pub struct Registry {
    plugin: *mut c_void,
}

impl Registry {
    pub unsafe fn new(plugin: *mut c_void) -> Registry {
        Registry { plugin }
    }
    pub fn device_type(&self, made: &tn_device_type) -> Result<(), Error> {
        unsafe { check(host().register_device_type.unwrap()(self.plugin, made)) }
    }
    pub fn kernels(&self, device: &'static str, made: &[tn_kernel]) -> Result<(), Error> {
        let stride = std::mem::size_of::<tn_kernel>() as u32;
        unsafe { check(host().register_kernels.unwrap()(self.plugin, str(device), made.as_ptr(), made.len() as u32, stride)) }
    }
    pub fn op(&self, made: &tn_op_def) -> Result<(), Error> {
        unsafe { check(host().register_op.unwrap()(self.plugin, made)) }
    }
}

/// The entry of a plugin: tenon_plugin!("org.example.name", "1.0", start), with fn start(&Registry) -> Result<(), Error>.
#[macro_export]
macro_rules! tenon_plugin {
    ($id:expr, $version:expr, $start:path) => {
        unsafe extern "C" fn tenon_start(
            from: *const $crate::tenon::abi::tn_host,
            plugin: *mut std::ffi::c_void,
            _directory: $crate::tenon::abi::tn_str,
            _state: *mut *mut std::ffi::c_void,
        ) -> $crate::tenon::Status {
            $crate::tenon::adopt_host(from);
            $crate::tenon::guard(|| $start(&$crate::tenon::Registry::new(plugin)))
        }
        static TENON_PLUGIN: $crate::tenon::Table<$crate::tenon::abi::tn_plugin> =
            $crate::tenon::Table($crate::tenon::abi::tn_plugin {
                abi_major: $crate::tenon::abi::TN_ABI_MAJOR,
                abi_minor: $crate::tenon::abi::TN_ABI_MINOR,
                id: $crate::tenon::str($id),
                version: $crate::tenon::str($version),
                start: Some(tenon_start),
                ..$crate::tenon::abi::tn_plugin::EMPTY
            });
        #[no_mangle]
        pub unsafe extern "C" fn tn_plugin_query(
            _host_major: u32,
            _host_minor: u32,
            out: *mut *const $crate::tenon::abi::tn_plugin,
        ) -> $crate::tenon::Status {
            *out = &TENON_PLUGIN.0;
            $crate::tenon::OK
        }
    };
}

/// For tn_kernel.supports: flat arrays. Operands of an elementwise op that lie without gaps, and every op without a loop, whose
/// inputs arrive contiguous. [thread-safe]
pub unsafe extern "C" fn supports_dense(_this: *mut c_void, call: *const tn_call, yes: *mut u32) -> Status {
    *yes = ((*call).r#loop.is_null() || (*call).flags & TN_CALL_CONTIGUOUS != 0) as u32;
    OK
}
