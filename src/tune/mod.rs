//! Loop 2: from traces to a memory specialist.
//!
//! Owns candidates for training and how they are selected, the postprocess, recipes, training (in this program or at
//! scale), and the sequence of these steps. Decisions are [`crate::review`]'s, gates [`crate::gate`]'s. Must not know
//! screens.
//!
//! | module | its one job |
//! |---|---|
//! | [`candidate`] | what a candidate is and what speaks for and against it |
//! | [`conversation`] | its text, verbatim from the run |
//! | [`harvest`] | the candidates of runs |
//! | [`postprocess`] | what of a conversation is trained on |
//! | [`author`] | who writes the recipes that follow the first |
//! | [`session`] | the sequence of it all |
//! | [`select`] | who selects: rules, a meta-LLM |
//! | [`dataset`] | the training set on disk |
//! | [`propose`] | a selection as a proposal |
//! | [`filter`] | which items are meant, as a person types it |
//! | [`certify`] | the accepted items of a proposal as a training set |
//! | [`recipe`] | data and training of one attempt, and how that is written |
//! | [`train`] | what is trained, by whom, and what is told meanwhile |

pub mod author;
pub mod candidate;
pub mod certify;
pub mod conversation;
pub mod dataset;
mod error;
pub mod filter;
pub mod harvest;
pub mod postprocess;
pub mod propose;
pub mod recipe;
pub mod select;
pub mod session;
pub mod train;

pub use error::TuneError;
