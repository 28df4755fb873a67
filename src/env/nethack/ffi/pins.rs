//! Functions the game is given in place of the system's, so that the same seed gives the same game on any day and
//! machine: the date and time are pinned, in UTC; the environment is empty; signals stay the program's.
//!
//! C's `long` and `time_t` have 64 bits wherever the library exists. Owns those functions and what they answer. The game alone calls them, from one thread at a time.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use super::super::date;

/// Seconds since 1970 that the game is told.
static NOW: AtomicI64 = AtomicI64::new(date::SHOWN);

/// C's `struct timeval`.
#[repr(C)]
struct TimeVal {
    seconds: i64,
    micros: i64,
}

/// C's `struct tm` with the two fields that the BSDs and Linux add.
#[repr(C)]
struct Tm {
    second: c_int,
    minute: c_int,
    hour: c_int,
    day: c_int,
    month: c_int,
    year: c_int,
    week_day: c_int,
    year_day: c_int,
    summer_time: c_int,
    offset: i64,
    zone: *const c_char,
}

/// The one `struct tm` that `localtime` answers with.
struct Shared(UnsafeCell<Tm>);

// SAFETY: only the game reads and writes it, through `local_time`, and one game is alive in a process (`super::Alone`),
// used by one thread at a time.
unsafe impl Sync for Shared {}

static BROKEN_DOWN: Shared = Shared(UnsafeCell::new(Tm {
    second: 0,
    minute: 0,
    hour: 0,
    day: 1,
    month: 0,
    year: 70,
    week_day: 4,
    year_day: 0,
    summer_time: 0,
    offset: 0,
    zone: c"UTC".as_ptr(),
}));

/// Each function that is replaced, by its name, with what stands in for it.
pub(super) fn replaced() -> [(&'static str, usize); 5] {
    [
        ("time", time as *const () as usize),
        ("gettimeofday", time_of_day as *const () as usize),
        ("localtime", local_time as *const () as usize),
        ("getenv", environment as *const () as usize),
        ("sigaction", signal_action as *const () as usize),
    ]
}

/// C's `time`.
///
/// # Safety
/// `out` is null or points to a `time_t`.
unsafe extern "C" fn time(out: *mut i64) -> i64 {
    let now = NOW.load(Ordering::Relaxed);
    if !out.is_null() {
        // SAFETY: the caller gives null or a valid place, as C's `time` demands.
        unsafe { *out = now };
    }
    now
}

/// C's `gettimeofday`.
///
/// # Safety
/// `out` is null or points to a `struct timeval`.
unsafe extern "C" fn time_of_day(out: *mut c_void, _zone: *mut c_void) -> c_int {
    if !out.is_null() {
        // SAFETY: the caller gives null or a valid place, as C's `gettimeofday` demands.
        unsafe {
            out.cast::<TimeVal>().write(TimeVal {
                seconds: NOW.load(Ordering::Relaxed),
                micros: 0,
            });
        }
    }
    0
}

/// C's `localtime`, in UTC.
///
/// # Safety
/// `when` is null or points to a `time_t`.
unsafe extern "C" fn local_time(when: *const i64) -> *mut c_void {
    let seconds = if when.is_null() {
        NOW.load(Ordering::Relaxed)
    } else {
        // SAFETY: not null, and the caller gives a valid place, as C's `localtime` demands.
        unsafe { *when }
    };
    let parts = date::parts(seconds);
    let place = BROKEN_DOWN.0.get();
    // SAFETY: see `Shared`: nobody else uses it now, and no reference to it is kept in Rust.
    unsafe {
        (*place).second = parts.second;
        (*place).minute = parts.minute;
        (*place).hour = parts.hour;
        (*place).day = parts.day;
        (*place).month = parts.month - 1;
        (*place).year = parts.year - 1900;
        (*place).week_day = parts.week_day;
        (*place).year_day = parts.year_day;
    }
    place.cast()
}

/// C's `getenv` in an empty environment.
///
/// # Safety
/// None needed: the name is not looked at.
unsafe extern "C" fn environment(_name: *const c_char) -> *mut c_char {
    ptr::null_mut()
}

/// C's `sigaction`, which changes nothing: the game's handlers would save and leave when a terminal hangs up.
///
/// # Safety
/// None needed: neither action is looked at.
unsafe extern "C" fn signal_action(_signal: c_int, _new: *const c_void, _old: *mut c_void) -> c_int {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_ins_tell_the_pinned_time() {
        let mut told: i64 = 0;
        let mut precise = TimeVal { seconds: 0, micros: 7 };
        // SAFETY: all places are valid and of the right kind.
        let broken_down = unsafe {
            assert_eq!(time(&raw mut told), told);
            assert_eq!(time_of_day((&raw mut precise).cast(), ptr::null_mut()), 0);
            &*local_time(&raw const told).cast::<Tm>()
        };
        assert_eq!(told, date::SHOWN);
        assert_eq!((precise.seconds, precise.micros), (told, 0));
        let parts = date::parts(date::SHOWN);
        assert_eq!(
            (
                broken_down.year + 1900,
                broken_down.month + 1,
                broken_down.day,
                broken_down.hour
            ),
            (parts.year, parts.month, parts.day, parts.hour)
        );
    }
}
