//! The native trainer: LoRA from the GGUF file that inference runs, in this process.
//!
//! Gradients are written by hand, layer by layer, so that frozen weights never get one. Must not know screens or verbs.
//!
//! | module | its one job |
//! |---|---|
//! | [`arch`] | what a model file says about its shape, and whether that is supported |
//! | [`weights`] | the frozen weights, dequantised |
//! | [`lora`] | the trainable matrices: start, effect, gradient |
//! | [`ops`] | the operations of a layer and their gradients |
//! | [`attention`] | causal attention in blocks, rotary embedding |
//! | [`layer`] | a layer forwards and back |
//! | [`model`] | the loss of a conversation and its gradient |

mod arch;
mod attention;
mod export;
mod layer;
mod lora;
mod model;
mod ops;
mod random;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tiny;
mod weights;

use export::export;
