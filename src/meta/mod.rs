//! Meta-LLMs at work: a conversation with a model that calls tools, led to a result.
//!
//! Owns the conversation (budget, reminders, transcript) and the tools over runs. What it is for is a [`Job`]'s: a
//! revision, a choice of training data. Must not apply anything.
//!
//! | file | its one job |
//! |---|---|
//! | `talk` | the conversation |
//! | `course` | budget, reminders, ends |
//! | `transcript` | the conversation on disk |
//! | `toolbox` | the table of tools over runs |
//! | `args` | what is written for an argument |
//! | `runs` | the runs that tools look at |
//! | `traces`, `numbers`, `sql` | the tools |

pub mod args;
mod course;
mod error;
mod numbers;
mod runs;
mod sql;
mod talk;
mod toolbox;
mod traces;
mod transcript;

pub use error::{Fault, MetaError};
pub use runs::{RESULT_BYTES, Run, Runs, bounded, cut, one_line};
pub use talk::{Called, Job, MetaOptions, News, Reminder, Talk};
pub use toolbox::{PAGE, Told, call_run_tool, no_such_tool, run_tools, spec};
pub use traces::{page, read_steps};
pub use transcript::fresh;
