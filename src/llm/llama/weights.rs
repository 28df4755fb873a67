//! The weights of a model: loaded once, computed with by several contexts, one at a time, with or without an adapter.
//!
//! Owns the weights, the adapters that are loaded for them, and the order in which contexts compute. llama.cpp keeps its
//! adapters in the model and looks at them whenever a context lays out its graph, so an adapter may only come and go while
//! no context of the model computes. One at a time is also what a processor wants: two teams of threads that each count on
//! all cores slow each other down several times over. Must not know prompts.

use std::ffi::CString;
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::{LlamaLoraAdapter, LlamaModel};

use super::backend;

/// Weights with what belongs to them.
#[derive(Debug)]
pub(super) struct Weights {
    model: LlamaModel,
    turns: Turns,
}

impl Weights {
    pub(super) fn new(model: LlamaModel) -> Self {
        Self {
            model,
            turns: Turns::default(),
        }
    }

    /// Whether another context computes now or waits to.
    pub(super) fn is_contended(&self) -> bool {
        let numbers = self.turns.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.0 != numbers.1
    }

    /// Waits until no other context of these weights computes; first come, first served.
    pub(super) fn turn(&self) -> Turn<'_> {
        self.turns.wait()
    }
}

impl Deref for Weights {
    type Target = LlamaModel;

    fn deref(&self) -> &LlamaModel {
        &self.model
    }
}

/// Who computes now, and who is next.
#[derive(Debug, Default)]
struct Turns {
    /// The next number to be drawn, and the number whose turn it is.
    numbers: Mutex<(u64, u64)>,
    changed: Condvar,
}

impl Turns {
    fn wait(&self) -> Turn<'_> {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = numbers.0;
        numbers.0 += 1;
        let others = |numbers: &mut (u64, u64)| numbers.1 != mine;
        drop(
            self.changed
                .wait_while(numbers, others)
                .unwrap_or_else(PoisonError::into_inner),
        );
        Turn(self)
    }
}

/// The right to compute, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.numbers.lock().unwrap_or_else(PoisonError::into_inner).1 += 1;
        self.0.changed.notify_all();
    }
}

/// A LoRA adapter that is loaded for a model's weights. Dropping it frees it; a context that uses it must be gone by then,
/// which the engine sees to: its thread holds the adapter and makes its context after it.
#[derive(Debug)]
pub(super) struct Adapter {
    loaded: Mutex<LlamaLoraAdapter>,
    weights: Arc<Weights>,
}

// The two wrappers are transparent over the pointers that are read and made below.
const _: () = assert!(size_of::<LlamaModel>() == size_of::<*mut llama_cpp_sys_2::llama_model>());
const _: () = assert!(size_of::<LlamaLoraAdapter>() == size_of::<*mut llama_cpp_sys_2::llama_adapter_lora>());

impl Adapter {
    /// Loads an adapter's file, which has been checked: llama.cpp says little about what is wrong with one.
    #[allow(
        unsafe_code,
        reason = "the wrapper crate loads adapters through &mut alone, which rules out live contexts, and never frees them"
    )]
    pub(super) fn load(weights: &Arc<Weights>, path: &Path) -> Result<Self, String> {
        let name = path
            .to_str()
            .and_then(|text| CString::new(text).ok())
            .ok_or("its path cannot be handed to llama.cpp: it holds characters that are no UTF-8")?;
        let _turn = weights.turn();
        backend::forget_log();
        // SAFETY: LlamaModel is repr(transparent) over a NonNull pointer to the model, so that a reference to it is a
        // reference to that pointer; only the pointer's value is read.
        let model: *mut llama_cpp_sys_2::llama_model = unsafe {
            std::ptr::from_ref::<LlamaModel>(weights)
                .cast::<*mut llama_cpp_sys_2::llama_model>()
                .read()
        };
        // SAFETY: the model is alive as long as `weights`, and the path is a text that ends with a zero byte. The call
        // reads the model's tensors and adds to its set of adapters, which contexts read only in their turns; this is ours.
        let loaded = unsafe { llama_cpp_sys_2::llama_adapter_lora_init(model, name.as_ptr()) };
        let Some(loaded) = NonNull::new(loaded) else {
            let log = backend::last_errors();
            return Err(match log.is_empty() {
                true => "llama.cpp cannot load it".to_owned(),
                false => format!("llama.cpp cannot load it: {log}"),
            });
        };
        // SAFETY: LlamaLoraAdapter is repr(transparent) over a NonNull pointer to the adapter, and has no destructor.
        let loaded = unsafe { std::mem::transmute::<NonNull<_>, LlamaLoraAdapter>(loaded) };
        Ok(Self {
            loaded: Mutex::new(loaded),
            weights: Arc::clone(weights),
        })
    }

    /// Has a context of the same weights compute with it.
    pub(super) fn set(&self, context: &mut LlamaContext<'_>) -> Result<(), String> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        context
            .lora_adapter_set(&mut loaded, 1.0)
            .map_err(|error| format!("llama.cpp does not use the adapter ({error})"))
    }
}

impl Drop for Adapter {
    #[allow(unsafe_code, reason = "the wrapper crate never frees adapters")]
    fn drop(&mut self) {
        let _turn = self.weights.turn();
        let loaded = self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as above, the wrapper is a pointer, whose value is read.
        let loaded: *mut llama_cpp_sys_2::llama_adapter_lora = unsafe {
            std::ptr::from_mut::<LlamaLoraAdapter>(loaded)
                .cast::<*mut llama_cpp_sys_2::llama_adapter_lora>()
                .read()
        };
        // SAFETY: it was made by llama_adapter_lora_init and is freed once, here; its model is alive, since `weights` is; no
        // context uses it any more (see the type), and none looks at the model's set of adapters, since it is our turn.
        unsafe { llama_cpp_sys_2::llama_adapter_lora_free(loaded) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_one_at_a_time_and_in_order() {
        let turns = Turns::default();
        let inside = std::sync::atomic::AtomicU32::new(0);
        let taken = Mutex::new(Vec::new());
        let first = turns.wait();
        std::thread::scope(|scope| {
            for n in 0..4_u64 {
                let (turns, inside, taken) = (&turns, &inside, &taken);
                scope.spawn(move || {
                    let turn = turns.wait();
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    taken.lock().unwrap().push(n);
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(turn);
                });
                // It has drawn its number before the next one comes.
                while turns.numbers.lock().unwrap().0 < n + 2 {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*taken.lock().unwrap(), [0, 1, 2, 3]);
    }
}
