//! The native probe inside the observed process: sees loop events at libc and libuv level and
//! writes them into a trace file (`spec/trace-format.md`).
//!
//! Raw Node-API instead of a binding library, because one `.node` file must run on every supported
//! Node and the code around a wrapped system call must not allocate, lock or unwind.
//!
//! Flow: `hooks` (wrapped libc calls), `trampoline` (swapped libuv callbacks) and `v8` see what
//! happens, `loop_state` turns it into records, `writer` puts them into the `ring`, `mapper` keeps
//! chunks of the file mapped ahead. `exports` is the JavaScript face. Without a recording, `act`
//! senses the loop with the same wrappers.

mod act;
mod clock;
mod completion;
mod cpu_timer;
mod exports;
mod fd_table;
mod fork;
mod function_entry;
mod got;
mod handles;
mod hooks;
mod interjection;
mod job_name;
mod job_path;
mod libuv;
mod location;
mod loop_state;
mod mapper;
mod messages;
mod napi;
mod not_running;
mod own_files;
mod pauses;
mod platform;
mod pool;
mod pool_name;
mod ready_helper;
mod recent_names;
mod recording_memory;
mod registry;
mod ring;
mod stack_frames;
mod start;
mod strings;
mod switches;
mod symbols;
mod thread;
mod timers;
mod total_bound;
mod trace_file;
mod trampoline;
mod v8;
mod watchdog;
mod writer;
