//! The part of Node-API the probe needs, found at run time.
//!
//! Found with dlsym instead of linked, so that unit tests run outside Node and a Node without a
//! function is an error with a name instead of a failed load.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// `napi_env`.
pub type Env = *mut c_void;
/// `napi_value`: also the slot a V8 `Local` points to.
pub type Value = *mut c_void;
/// `napi_callback_info`.
pub type CallbackInfo = *mut c_void;
/// `napi_status`; 0 is ok.
pub type Status = c_int;
/// A function JavaScript can call.
pub type Callback = unsafe extern "C" fn(Env, CallbackInfo) -> Value;
/// `napi_finalize`.
pub type Finalize = unsafe extern "C" fn(Env, *mut c_void, *mut c_void);
/// Hook that runs when the environment is torn down.
pub type CleanupHook = unsafe extern "C" fn(*mut c_void);

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)+) => {
        /// The functions, one field each.
        #[allow(non_snake_case)]
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> Status,)+
        }

        impl Functions {
            fn find() -> Option<Self> {
                Some(Self {
                    $($name: {
                        let address = find_symbol(
                            // The macro appends the terminating zero.
                            concat!(stringify!($name), "\0").as_bytes(),
                        )?;
                        // SAFETY: Node-API is a stable C ABI; the type is that of node_api.h.
                        unsafe {
                            std::mem::transmute::<
                                usize,
                                unsafe extern "C" fn($($argument),*) -> Status,
                            >(address)
                        }
                    },)+
                })
            }
        }
    };
}

functions! {
    napi_create_function(Env, *const c_char, usize, Callback, *mut c_void, *mut Value);
    napi_set_named_property(Env, Value, *const c_char, Value);
    napi_get_named_property(Env, Value, *const c_char, *mut Value);
    napi_get_cb_info(Env, CallbackInfo, *mut usize, *mut Value, *mut Value, *mut *mut c_void);
    napi_create_object(Env, *mut Value);
    napi_create_array(Env, *mut Value);
    napi_set_element(Env, Value, u32, Value);
    napi_create_double(Env, f64, *mut Value);
    napi_create_bigint_uint64(Env, u64, *mut Value);
    napi_create_string_utf8(Env, *const c_char, usize, *mut Value);
    napi_get_boolean(Env, bool, *mut Value);
    napi_get_undefined(Env, *mut Value);
    napi_get_value_double(Env, Value, *mut f64);
    napi_get_value_string_utf8(Env, Value, *mut c_char, usize, *mut usize);
    napi_get_value_string_utf16(Env, Value, *mut u16, usize, *mut usize);
    napi_create_external_arraybuffer(
        Env, *mut c_void, usize, Finalize, *mut c_void, *mut Value
    );
    napi_run_script(Env, Value, *mut Value);
    napi_throw_error(Env, *const c_char, *const c_char);
    napi_get_uv_event_loop(Env, *mut *mut c_void);
    napi_add_env_cleanup_hook(Env, CleanupHook, *mut c_void);
}

static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();

/// Address of a symbol that the executable or a library it loaded exports; `name` ends in zero.
pub fn find_symbol(name: &[u8]) -> Option<usize> {
    let name = CStr::from_bytes_with_nul(name).ok()?;
    // SAFETY: `name` is a C string; RTLD_DEFAULT searches what is loaded.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

/// The functions; `None` outside Node.
pub fn functions() -> Option<&'static Functions> {
    FUNCTIONS.get_or_init(Functions::find).as_ref()
}

/// What a call from JavaScript works with: makes values, reads arguments, throws.
#[derive(Clone, Copy)]
pub struct Scope {
    env: Env,
    functions: &'static Functions,
}

/// `Scope` methods return null values and `None` where Node-API refuses; an exception is then
/// already pending or the caller throws one.
impl Scope {
    /// `None` outside Node.
    ///
    /// # Safety
    /// `env` is the environment of the running callback or module initialiser.
    pub unsafe fn new(env: Env) -> Option<Self> {
        Some(Self {
            env,
            functions: functions()?,
        })
    }

    pub fn env(self) -> Env {
        self.env
    }

    fn value(self, make: impl FnOnce(&Functions, *mut Value) -> Status) -> Value {
        let mut value = null_mut();
        if make(self.functions, &mut value) == 0 {
            value
        } else {
            null_mut()
        }
    }

    pub fn undefined(self) -> Value {
        // SAFETY: valid environment and out pointer.
        self.value(|f, out| unsafe { (f.napi_get_undefined)(self.env, out) })
    }

    pub fn boolean(self, value: bool) -> Value {
        // SAFETY: valid environment and out pointer.
        self.value(|f, out| unsafe { (f.napi_get_boolean)(self.env, value, out) })
    }

    pub fn number(self, value: f64) -> Value {
        // SAFETY: valid environment and out pointer.
        self.value(|f, out| unsafe { (f.napi_create_double)(self.env, value, out) })
    }

    pub fn bigint(self, value: u64) -> Value {
        // SAFETY: valid environment and out pointer.
        self.value(|f, out| unsafe { (f.napi_create_bigint_uint64)(self.env, value, out) })
    }

    pub fn string(self, value: &str) -> Value {
        let (at, length) = (value.as_ptr().cast(), value.len());
        // SAFETY: the bytes live through the call.
        self.value(|f, out| unsafe { (f.napi_create_string_utf8)(self.env, at, length, out) })
    }

    pub fn object(self) -> Value {
        // SAFETY: valid environment and out pointer.
        self.value(|f, out| unsafe { (f.napi_create_object)(self.env, out) })
    }

    pub fn array(self, elements: &[Value]) -> Value {
        // SAFETY: valid environment and out pointer.
        let array = self.value(|f, out| unsafe { (f.napi_create_array)(self.env, out) });
        for (index, element) in elements.iter().enumerate() {
            // SAFETY: array and element are live values of this scope.
            unsafe { (self.functions.napi_set_element)(self.env, array, index as u32, *element) };
        }
        array
    }

    pub fn function(self, name: &CStr, callback: Callback) -> Value {
        let at = name.as_ptr();
        self.value(|f, out| {
            // SAFETY: the name is a C string; the callback has the type Node-API wants.
            unsafe { (f.napi_create_function)(self.env, at, usize::MAX, callback, null_mut(), out) }
        })
    }

    pub fn set(self, object: Value, name: &CStr, value: Value) {
        // SAFETY: live values of this scope, C string.
        unsafe { (self.functions.napi_set_named_property)(self.env, object, name.as_ptr(), value) };
    }

    pub fn get(self, object: Value, name: &CStr) -> Value {
        // SAFETY: live value of this scope, C string.
        self.value(|f, out| unsafe {
            (f.napi_get_named_property)(self.env, object, name.as_ptr(), out)
        })
    }

    /// The arguments the function was called with; missing ones are undefined.
    pub fn arguments<const N: usize>(self, info: CallbackInfo) -> [Value; N] {
        let mut values = [null_mut(); N];
        let mut count = N;
        // SAFETY: `values` has room for `count` values.
        unsafe {
            (self.functions.napi_get_cb_info)(
                self.env,
                info,
                &mut count,
                values.as_mut_ptr(),
                null_mut(),
                null_mut(),
            )
        };
        values
    }

    pub fn to_number(self, value: Value) -> Option<f64> {
        let mut number = 0.0;
        // SAFETY: Node-API checks that the value is a number.
        let status =
            unsafe { (self.functions.napi_get_value_double)(self.env, value, &mut number) };
        (status == 0).then_some(number)
    }

    /// Copies a string of at most `buffer.len() - 1` bytes; a longer one is cut at a character.
    pub fn to_bytes(self, value: Value, buffer: &mut [u8]) -> Option<&[u8]> {
        let mut length = 0;
        // SAFETY: `buffer` has that many bytes; Node-API checks that the value is a string.
        let status = unsafe {
            (self.functions.napi_get_value_string_utf8)(
                self.env,
                value,
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                &mut length,
            )
        };
        (status == 0).then(|| &buffer[..length.min(buffer.len())])
    }

    /// A whole string of at most `most` UTF-16 units; `None` when it is longer or none.
    pub fn to_utf16(self, value: Value, most: usize) -> Option<Vec<u16>> {
        let get = self.functions.napi_get_value_string_utf16;
        let mut length = 0;
        // SAFETY: without a buffer only the length is asked; Node-API checks for a string.
        let status = unsafe { get(self.env, value, null_mut(), 0, &mut length) };
        if status != 0 || length > most {
            return None;
        }
        let mut units = vec![0; length + 1];
        // SAFETY: `units` has room for that many with the final zero.
        let status = unsafe {
            get(
                self.env,
                value,
                units.as_mut_ptr(),
                units.len(),
                &mut length,
            )
        };
        units.truncate(length);
        (status == 0).then_some(units)
    }

    /// A string argument.
    pub fn to_string(self, value: Value) -> Option<String> {
        let mut buffer = [0; 4200];
        let bytes = self.to_bytes(value, &mut buffer)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Shares memory with JavaScript without copying; the memory must outlive the environment.
    pub fn memory(self, at: *mut u8, length: usize) -> Value {
        unsafe extern "C" fn keep(_: Env, _: *mut c_void, _: *mut c_void) {}
        self.value(|f, out| {
            // SAFETY: the caller's mapping outlives the environment (see `start`).
            unsafe {
                (f.napi_create_external_arraybuffer)(
                    self.env,
                    at.cast(),
                    length,
                    keep,
                    null_mut(),
                    out,
                )
            }
        })
    }

    /// Compiles and runs a script; false when it throws or may not run now.
    pub fn run(self, source: &str) -> bool {
        let source = self.string(source);
        let mut result = null_mut();
        // SAFETY: a live value of this scope and a valid out pointer.
        let status = unsafe { (self.functions.napi_run_script)(self.env, source, &mut result) };
        status == 0
    }

    /// Throws an Error with a `code`.
    pub fn throw(self, code: &str, message: &str) -> Value {
        let text = |text: &str| std::ffi::CString::new(text.replace('\0', " "));
        if let (Ok(code), Ok(message)) = (text(code), text(message)) {
            // SAFETY: two C strings.
            unsafe { (self.functions.napi_throw_error)(self.env, code.as_ptr(), message.as_ptr()) };
        }
        null_mut()
    }

    /// The `uv_loop_t` of this environment.
    pub fn event_loop(self) -> Option<usize> {
        let mut uv_loop = null_mut();
        // SAFETY: valid environment and out pointer.
        let status = unsafe { (self.functions.napi_get_uv_event_loop)(self.env, &mut uv_loop) };
        (status == 0 && !uv_loop.is_null()).then_some(uv_loop as usize)
    }

    /// Runs `hook` on this thread when the environment is torn down, after the last JavaScript.
    pub fn on_cleanup(self, hook: CleanupHook) {
        // SAFETY: the hook is a function of this library, which is never unloaded.
        unsafe { (self.functions.napi_add_env_cleanup_hook)(self.env, hook, null_mut()) };
    }
}
